-- The content of attachments in pieces: a value of a row can only be had whole, and a client that takes its time would hold
-- all of it in memory meanwhile.
CREATE TABLE attachment_pieces (
    message_id INTEGER NOT NULL,
    part       INTEGER NOT NULL,
    piece      INTEGER NOT NULL,
    content    BLOB NOT NULL,
    PRIMARY KEY (message_id, part, piece),
    FOREIGN KEY (message_id, part) REFERENCES attachments (message_id, part)
) STRICT;

WITH RECURSIVE pieces (message_id, part, piece) AS (
    SELECT message_id, part, 0 FROM attachments WHERE length(content) > 0
    UNION ALL
    SELECT a.message_id, a.part, p.piece + 1
    FROM pieces p JOIN attachments a ON a.message_id = p.message_id AND a.part = p.part
    WHERE (p.piece + 1) * 65536 < length(a.content)
)
INSERT INTO attachment_pieces (message_id, part, piece, content)
SELECT a.message_id, a.part, p.piece, substr(a.content, p.piece * 65536 + 1, 65536)
FROM pieces p JOIN attachments a ON a.message_id = p.message_id AND a.part = p.part;

ALTER TABLE attachments DROP COLUMN content;
