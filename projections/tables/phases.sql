-- phases: one row for each phase of a try that ended (prepare, create, run, stop, store, score, destroy).
-- reads: trial.phase_finished
--
-- seq, trial, try_no, phase
-- duration_ns                measured by the engine on the monotonic clock
-- ok, error                  error is null where the phase went well
SELECT
    seq,
    trial,
    CAST(data ->> '$.try_no' AS BIGINT) AS try_no,
    data ->> '$.phase' AS phase,
    CAST(data ->> '$.duration_ns' AS BIGINT) AS duration_ns,
    CAST(data ->> '$.ok' AS BOOLEAN) AS ok,
    data ->> '$.error' AS error
FROM events
WHERE type = 'trial.phase_finished'
ORDER BY seq
