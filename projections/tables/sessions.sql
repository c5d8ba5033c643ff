-- sessions: one row for each engine that carried out the run: the first, then one for each resume.
-- reads: run.started, run.resumed
--
-- session                    from 1
-- first_seq, last_seq        its events
-- boot                       of the machine; monotonic times of different boots are not comparable
-- started_at                 UTC wall time
-- duration_ns                from its first to its last run or trial event, by the monotonic clock
WITH starts AS (
    SELECT
        row_number() OVER (ORDER BY seq) AS session,
        seq AS first_seq,
        lead(seq) OVER (ORDER BY seq) - 1 AS next_seq,
        data ->> '$.boot' AS boot,
        time AS started_at
    FROM events
    WHERE type IN ('run.started', 'run.resumed')
)
SELECT
    s.session,
    s.first_seq,
    max(e.seq) AS last_seq,
    s.boot,
    s.started_at,
    max(e.mono) - min(e.mono) AS duration_ns
FROM starts AS s
JOIN events AS e
    ON e.seq BETWEEN s.first_seq AND coalesce(s.next_seq, e.seq)
    AND (e.type LIKE 'run.%' OR e.type LIKE 'trial.%')
GROUP BY ALL
ORDER BY s.session
