# The lab as an image of its program alone: docker build -t lab . && docker run --rm lab run flash-crowd --virtual
# With the screen, and results kept: docker run --rm -it -v "$PWD/runs:/work/runs" lab
FROM rust:1.94-slim-trixie AS build
WORKDIR /lab
# git names the commit that `lab --version` prints.
RUN apt-get update && apt-get install -y --no-install-recommends gcc git libc6-dev && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cargo build --release --locked

FROM debian:trixie-slim
COPY --from=build /lab/target/release/lab /usr/local/bin/lab
# Experiments write into runs/ below the working folder.
RUN useradd --create-home --uid 1000 lab && install -d -o lab -g lab /work/runs
USER lab
WORKDIR /work
# The screen draws more than ASCII.
ENV LANG=C.UTF-8
ENTRYPOINT ["lab"]
