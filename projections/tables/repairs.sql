-- repairs: one row for each time that the stream was repaired; none for an original.
-- reads: stream.repaired
-- counts: event.lost
--
-- seq
-- original                  id of the stream that was repaired
-- last, kept, lost          events of the original: all that it had, those in the copy, those that are missing
-- ranges                    JSON: the missing events, each range with first, last, cause, file and offset
-- lost_blobs                JSON: digests of payloads that are missing
-- end                       why the original may have gone further; null where it did not
-- lost_events               events that are missing by now, of all repairs
SELECT
    seq,
    data ->> '$.original' AS original,
    CAST(data ->> '$.last' AS BIGINT) AS last,
    CAST(data ->> '$.kept' AS BIGINT) AS kept,
    CAST(data ->> '$.lost' AS BIGINT) AS lost,
    data -> '$.ranges' AS ranges,
    data -> '$.lost_blobs' AS lost_blobs,
    data ->> '$.end' AS "end",
    (SELECT count(*) FROM events WHERE type = 'event.lost') AS lost_events
FROM events
WHERE type = 'stream.repaired'
ORDER BY seq
