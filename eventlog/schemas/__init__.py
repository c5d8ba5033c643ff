"""Every event type and version, by schema. `SCHEMAS` is what the docs and the readers use."""

from eventlog.schemas import conversation, repairs, runs, trials
from eventlog.schemas.base import SCHEMAS, EventData, upcast

__all__ = ["SCHEMAS", "EventData", "conversation", "repairs", "runs", "trials", "upcast"]
