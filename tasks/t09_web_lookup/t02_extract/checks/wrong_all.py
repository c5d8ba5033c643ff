"""Wrong: all of the text."""

import html
import re
import urllib.request

from hemra_protocol import Trial


def web_extract(trial, url, ok=True):
    """One call of the tool: gets the page. Returns its HTML."""
    call = trial.call("web_extract", {"urls": [url]})
    with urllib.request.urlopen(url, timeout=20) as response:
        page = response.read().decode("utf-8")
    trial.result(call, ok, {"results": [{"url": url, "content": page}]})
    return page


def words_of(markup):
    """The text of a piece of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


trial = Trial("wrong", "1")
url = re.search(r"http://\S+", trial.instruction)[0]
trial.final("\n\n".join(map(words_of, re.findall(r"(?s)<p>(.*?)</p>", web_extract(trial, url)))))
