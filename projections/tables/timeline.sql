-- timeline: one row for each step of a try that people look for: what happened, and when since its start.
-- reads: trial.started, trial.phase_finished, trial.retried, trial.finished, sandbox.created, sandbox.lost,
-- reads: sandbox.destroyed, harness.started, harness.exited, score.recorded
-- needs: starts
--
-- seq, trial, try_no, type
-- offset_ns                  since the try began, monotonic clock
-- detail                     phase, outcome or status; null where the type says it all
SELECT
    e.seq,
    e.trial,
    s.try_no,
    e.type,
    CASE WHEN e.mono < s.mono THEN 0 ELSE e.mono - s.mono END AS offset_ns,
    coalesce(e.data ->> '$.phase', e.data ->> '$.outcome', e.data ->> '$.status') AS detail
FROM events AS e
JOIN starts AS s
    ON s.trial = e.trial AND e.seq >= s.first_seq AND (s.next_seq IS NULL OR e.seq < s.next_seq)
WHERE e.type IN (
    'trial.started', 'trial.phase_finished', 'trial.retried', 'trial.finished', 'sandbox.created',
    'sandbox.lost', 'sandbox.destroyed', 'harness.started', 'harness.exited', 'score.recorded'
)
ORDER BY e.seq
