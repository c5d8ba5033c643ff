"""A small MCP server over stdio: a line of JSON-RPC in, a line out. Standard library only.

It knows balances by account (LEDGER_BALANCES, JSON) and has the tools `accounts` and `lookup`.
"""

import json
import os
import sys

TOOLS = [
    {
        "name": "lookup",
        "description": "The balance of one account.",
        "inputSchema": {
            "type": "object",
            "properties": {"account": {"type": "string", "description": "Its name, as in A-123."}},
            "required": ["account"],
        },
    },
    {
        "name": "accounts",
        "description": "The names of all accounts.",
        "inputSchema": {"type": "object", "properties": {}},
    },
]


def called(name, arguments, balances):
    """Text of a tool's answer, and whether it is an error."""
    if name == "accounts":
        return " ".join(balances), False
    account = arguments.get("account")
    if account not in balances:
        return f"there is no account {account!r}", True
    return f"{account}: {balances[account]}", False


def answer(message, balances):
    """The result of a request; None for a method that is not known."""
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "ledger", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        text, failed = called(params.get("name"), params.get("arguments") or {}, balances)
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    return {} if method == "ping" else None


def replied(message, balances):
    """The reply to a message; None where it asks for none."""
    if "id" not in message or "method" not in message:
        return None
    result = answer(message, balances)
    if result is None:
        error = {"code": -32601, "message": f"no method {message['method']}"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def main():
    """Answer line by line until there is nobody who asks."""
    balances = json.loads(os.environ["LEDGER_BALANCES"])
    for line in sys.stdin:
        reply = replied(json.loads(line), balances)
        if reply is not None:
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
