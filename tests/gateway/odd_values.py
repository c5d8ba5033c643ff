"""Values that nobody expects, made of the words that the dialects are made of: for tests that try anything."""

from __future__ import annotations

from hypothesis import strategies as st

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
#: Fields of the dialects.
WORDS = [
    "action", "arguments", "cache_creation", "call_id", "choices", "content", "content_block",
    "content_index", "custom", "data", "delta", "detail", "error", "finish_reason", "function",
    "function_call", "id", "incomplete_details", "index", "input", "is_error", "item", "logprobs", "message",
    "model", "name", "namespace", "output", "output_index", "partial_json", "prompt_token_ids", "reasoning",
    "reasoning_details", "refusal", "response", "role", "status", "stop_reason", "summary", "summary_index",
    "text", "thinking", "token_ids", "tool_calls", "tool_use_id", "type", "usage", "x_groq",
]  # fmt: skip
#: Types of events, items, blocks and tools.
KINDS = [
    "message_start", "content_block_start", "content_block_delta", "message_delta", "error",
    "response.completed", "response.output_item.added", "response.output_item.done",
    "response.output_text.delta", "response.output_text.done", "response.reasoning_summary_text.delta",
    "response.function_call_arguments.delta", "message", "response", "tool_use", "text", "text_delta",
    "input_json_delta", "thinking", "function_call", "custom_tool_call", "mcp_call", "reasoning",
    "web_search_call", "function_call_output", "namespace", "custom", "function", "allowed_tools",
    "tool_result",
]  # fmt: skip
#: Objects whose fields are the dialects' own, with anything in them.
objects = st.recursive(
    values | st.sampled_from(KINDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=25,
)
