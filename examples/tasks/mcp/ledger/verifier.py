"""The file and the answer hold the balance, and where tools are told, a call of the server's tool showed it."""

from hemra_verifier import answer, failed, passed, read, showed, states


def verify(workspace, trace):
    balance = trace["values"]["balance"]
    if (read(workspace, "balance.txt") or b"").decode("utf-8", "replace").strip() != str(balance):
        return failed("balance.txt does not hold the balance")
    if not states(answer(trace), balance):
        return failed("the answer does not give the balance")
    if not trace["tools_recorded"]:
        return passed("written and answered; this harness does not tell its tools")
    if not showed(trace, balance, "mcp__ledger__lookup"):
        return failed("no call of mcp__ledger__lookup that worked showed the balance")
    return passed("looked up, written and answered")
