"""Fails unless a page of --report is well-formed HTML that needs nothing from elsewhere and whose links and pictures are sound: PAGE"""
import html.parser
import re
import sys

EMPTY = {"meta", "br", "rect", "path", "line", "circle"}
TAGS = set(
    "html head meta title style body header nav section h1 h2 h3 p span b i a code pre div table tr th td ul li details summary br svg g "
    "rect path line circle text".split()
)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.text, self.boxes = [], [], [], "", 0

    def handle_starttag(self, tag, attributes):
        at = self.getpos()
        assert tag in TAGS, "<%s> at %s" % (tag, at)
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), "an attribute twice at %s" % (at,)
        for name, value in attributes:
            assert not name.startswith("on"), "a script at %s" % (at,)
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "action", "data", "poster", "xlink:href"):
                assert name == "href" and value.startswith("#"), "%s=%s at %s" % (name, value, at)
                self.links.append(value[1:])
            if name == "d" or tag in ("rect", "line", "circle", "svg"):
                assert "nan" not in value.lower() and "inf" not in value.lower(), "a picture without numbers at %s: %s" % (at, value)
            if name in ("width", "height", "r"):
                assert float(value) >= 0, "a negative size at %s" % (at,)
        self.boxes += tag == "rect"
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, "</%s> at %s closes %s" % (tag, self.getpos(), self.open[-3:])
        self.open.pop()

    def handle_data(self, data):
        self.text += data


with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
assert text.startswith("<!DOCTYPE html>")
page = Page()
page.feed(text)
page.close()
assert not page.open, page.open
assert len(page.ids) == len(set(page.ids)), "an id twice"
missing = set(page.links) - set(page.ids)
assert not missing and page.links, "links to nowhere: %s" % sorted(missing)[:5]
assert page.boxes >= 4, "no pictures"
style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
assert "@import" not in style and "url(" not in style
assert "{{title}}" not in text, "a place in the template was left"
