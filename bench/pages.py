"""What web services do to the heap: a WSGI application with routes, sessions, templates and JSON, called without a
socket. pages.py REQUESTS; measured by bench/run.py.

SPDX-License-Identifier: Apache-2.0
"""

import html
import io
import json
import re
import string
import sys
import urllib.parse
from wsgiref.util import setup_testing_defaults

PAGE = string.Template("<html><h1>$title</h1><ul>$items</ul><p>$user</p></html>")
sessions = {}


def show_list(request, number):
    items = "".join(f"<li>{html.escape(name)}: {value}</li>" for name, value in request["query"].items())
    text = PAGE.substitute(title=f"List {number}", items=items * 10, user=request["user"])
    return "text/html", text


def store(request, number):
    data = json.loads(request["body"])
    sessions[int(number) % 500] = data
    return "application/json", json.dumps({"stored": number, "fields": sorted(data), "count": len(sessions)})


ROUTES = [(re.compile(r"/list/(\d+)$"), show_list), (re.compile(r"/store/(\d+)$"), store)]


def application(environ, start_response):
    request = {
        "query": dict(urllib.parse.parse_qsl(environ["QUERY_STRING"])),
        "body": environ["wsgi.input"].read(),
        "user": environ.get("HTTP_COOKIE", "nobody").partition("=")[2],
    }
    for pattern, view in ROUTES:
        match = pattern.match(environ["PATH_INFO"])
        if match:
            kind, text = view(request, match.group(1))
            start_response("200 OK", [("Content-Type", kind), ("Content-Length", str(len(text)))])
            return [text.encode()]
    start_response("404 Not Found", [])
    return [b""]


def call(number):
    query = urllib.parse.urlencode({f"name{i}": f"value <{number + i}>" for i in range(5)})
    body = json.dumps({f"field{i}": ["text " * 5, number, i / 3] for i in range(8)}).encode()
    path = f"/{('list', 'store')[number % 2]}/{number}"
    environ = {"PATH_INFO": path, "QUERY_STRING": query, "HTTP_COOKIE": f"user=user{number % 97}"}
    environ["wsgi.input"] = io.BytesIO(body)
    setup_testing_defaults(environ)
    return sum(map(len, application(environ, lambda status, headers: None)))


def main():
    print(sum(call(number) for number in range(int(sys.argv[1]))))


main()
