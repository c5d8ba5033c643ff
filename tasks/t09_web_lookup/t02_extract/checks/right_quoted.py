"""Another right way: a tool that gives markdown; the paragraph is quoted with a word before it."""

import html
import re
import urllib.request

from hemra_protocol import Trial


def words_of(markup):
    """The text of a piece of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


trial = Trial("right", "1")
url = re.search(r"http://\S+", trial.instruction)[0]
call = trial.call("web_extract", {"url": url})
with urllib.request.urlopen(url, timeout=20) as response:
    page = response.read().decode("utf-8")
first = re.search(r"(?s)<p>(.*?)</p>", page)[1]
text = re.sub(r'<a href="([^"]+)">([^<]+)</a>', r"[\2](\1)", first)
text = html.unescape(re.sub(r"</?b>", "**", re.sub(r"</?i>", "_", text)))
trial.result(call, True, f"# Article\n\n{text}\n\nMore.")
trial.final(f"The first paragraph reads:\n\n> {text}")
