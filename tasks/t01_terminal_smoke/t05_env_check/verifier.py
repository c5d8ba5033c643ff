"""Passes when the answer holds the trial's own HOME and the check code for it."""

from hemra_verifier import answer, failed, passed, showed, states


def cksum(data):
    """The checksum of POSIX cksum (CRC-32 with the length of the data behind it)."""
    length, tail = len(data), bytearray()
    while length:
        tail.append(length & 0xFF)
        length >>= 8
    crc = 0
    for byte in data + bytes(tail):
        crc ^= byte << 24
        for _ in range(8):
            crc = ((crc << 1) ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
    return crc ^ 0xFFFFFFFF


def verify(workspace, trace):
    """HOME is the trial's home; the code depends on it and on a salt that is drawn per trial."""
    home = trace["home"]
    said = answer(trace)
    code = cksum(f"{trace['values']['salt']}:{home}".encode())
    if not home or not states(said, home):
        return failed("the answer does not give the value of HOME")
    if not states(said, code):
        return failed("the answer does not give the check code for HOME")
    if not trace["tools_recorded"]:
        return passed("right value; this harness records no tools, the outcome alone was judged")
    if not (showed(trace, home, "terminal") and showed(trace, code, "terminal")):
        return failed("no successful terminal call showed HOME and its check code")
    return passed("HOME and its check code were printed and reported")
