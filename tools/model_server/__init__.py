"""The scripted model server: a loopback server that answers agents from a script, in three dialects.

It stands in for a language model in tests and demos: OpenAI chat completions, OpenAI Responses and Anthropic
Messages, streamed and not. What it says comes from a YAML file (`script`), what it served is kept (`journal`).
`python -m tools.model_server --script FILE` starts it; `running` starts it inside a test. See
docs/model-server.md.
"""
