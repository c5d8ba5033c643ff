-- starts: one row for each start of a trial, with the range of events that belong to it.
-- reads: trial.started
--
-- trial, try_no
-- first_seq                  the trial.started event
-- next_seq                   the trial's next start; null for the last one
-- mono                       monotonic time of the start, ns
-- limits                     JSON object; not_enforced: JSON array of names
-- why_not_enforced           JSON object, reason by name; null in older logs
SELECT
    trial,
    CAST(data ->> '$.try_no' AS BIGINT) AS try_no,
    seq AS first_seq,
    lead(seq) OVER (PARTITION BY trial ORDER BY seq) AS next_seq,
    mono,
    data -> '$.limits' AS limits,
    data -> '$.not_enforced' AS not_enforced,
    data -> '$.why_not_enforced' AS why_not_enforced
FROM events
WHERE type = 'trial.started'
ORDER BY seq
