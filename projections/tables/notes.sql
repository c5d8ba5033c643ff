-- notes: one row for each remark of the product or of a person, and each thing that could not be measured.
-- reads: note.recorded, telemetry.warned
--
-- seq, trial                 trial is null for a remark about the run
-- level                      info, warning or error
-- code, text
SELECT
    seq,
    trial,
    coalesce(data ->> '$.level', 'warning') AS level,
    coalesce(data ->> '$.code', 'telemetry.' || (data ->> '$.what')) AS code,
    coalesce(data ->> '$.text', data ->> '$.detail') AS text
FROM events
WHERE type IN ('note.recorded', 'telemetry.warned')
ORDER BY seq
