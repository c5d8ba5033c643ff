-- enforcement: one row for each limit or isolation that a try's sandbox spoke about.
-- reads: sandbox.created
--
-- seq, trial, try_no, sandbox
-- name                       of the limit or isolation
-- status                     enforced, best effort or not enforced
-- by                         what holds it; null = not told
SELECT
    e.seq,
    e.trial,
    CAST(e.data ->> '$.try_no' AS BIGINT) AS try_no,
    e.data ->> '$.kind' AS sandbox,
    entry.key AS name,
    entry.value ->> '$.status' AS status,
    entry.value ->> '$.by' AS by
FROM events AS e, json_each(e.data, '$.enforcement') AS entry
WHERE e.type = 'sandbox.created'
ORDER BY e.seq, entry.key
