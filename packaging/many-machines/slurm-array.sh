#!/bin/sh
#SBATCH --job-name=lab
#SBATCH --array=1-8
#SBATCH --cpus-per-task=2
#SBATCH --time=01:00:00
# A part of a run for each task of an array, on a file system that all nodes share:
#
#   sbatch slurm-array.sh shop.yaml 64
#   lab merge part-JOB-* -o whole                    when all tasks are done
set -eu
exec lab run "$1" --virtual --repeat "$2" --shard-by block --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
    --out "part-$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID"
