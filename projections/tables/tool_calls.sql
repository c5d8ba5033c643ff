-- tool_calls: one row for each call of a tool, with what came back.
-- reads: tool.called, tool.returned
-- needs: starts
--
-- seq, trial, try_no         seq of the call
-- offset_ns                  since the try began, monotonic clock
-- call, name, turn           turn counts the assistant's turns from 1; null = not told
-- arguments, result          JSON as recorded: escapes and moved-out payloads as in the log
-- ok                         null where the harness does not say whether it worked
-- returned_seq               null where nothing came back
-- duration_ns                from call to return, monotonic clock; null where nothing came back
WITH calls AS (
    SELECT
        e.seq, e.trial, e.mono, e.type, e.data, s.try_no, s.mono AS start_mono,
        e.data ->> '$.call' AS call,
        -- A harness may use a call id twice: the first return belongs to the first call.
        row_number() OVER (
            PARTITION BY e.trial, s.first_seq, e.type, e.data ->> '$.call' ORDER BY e.seq
        ) AS nth,
        s.first_seq
    FROM events AS e
    LEFT JOIN starts AS s
        ON s.trial = e.trial AND e.seq > s.first_seq AND (s.next_seq IS NULL OR e.seq < s.next_seq)
    WHERE e.type IN ('tool.called', 'tool.returned')
)
SELECT
    c.seq,
    c.trial,
    c.try_no,
    CASE WHEN c.mono < c.start_mono THEN 0 ELSE c.mono - c.start_mono END AS offset_ns,
    c.call,
    c.data ->> '$.name' AS name,
    TRY_CAST(c.data ->> '$.turn' AS BIGINT) AS turn,
    c.data -> '$.arguments' AS arguments,
    TRY_CAST(r.data ->> '$.ok' AS BOOLEAN) AS ok,
    r.data -> '$.result' AS result,
    r.seq AS returned_seq,
    CASE WHEN r.mono < c.mono THEN 0 ELSE r.mono - c.mono END AS duration_ns
FROM calls AS c
LEFT JOIN calls AS r
    ON r.type = 'tool.returned'
    AND r.trial IS NOT DISTINCT FROM c.trial
    AND r.first_seq IS NOT DISTINCT FROM c.first_seq
    AND r.call = c.call
    AND r.nth = c.nth
WHERE c.type = 'tool.called'
ORDER BY c.seq
