#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Has the daemons give every answer that doc/openapi.json documents.

usage: every_response.py OPENAPI FOLDER PHASE
       every_response.py OPENAPI FOLDER verdict

A phase makes the requests that api_requests.py has for it, and those that follow
from the document alone, to the daemons whose sockets are in FOLDER. Each answer
must have a documented status and content type and fit its schema, with no field
that the schema does not know. What occurred is noted in FOLDER/occurred; the verdict
fails if one of the documented answers never did.
"""
import http.client
import json
import os
import re
import socket
import sys
import time

import jsonschema

import api_requests

PATIENCE_S = 30
# What every operation may answer without saying so: response "default".
DEFAULT_CODES = {"not_found", "method_not_allowed", "too_large", "internal", "out_of_memory", "busy"}


class Failure(Exception):
    pass


def or_null(schema):
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return {**schema, "type": [schema["type"], "null"]}


def leaves(errors):
    """What is wrong itself, also within the alternatives of a schema."""
    for error in errors:
        if error.context:
            yield from leaves(error.context)
        else:
            yield error


# --- The document ---------------------------------------------------------------


class Document:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.doc = json.load(file)
        self.operations = [
            (method.upper(), path, operation)
            for path, methods in self.doc["paths"].items()
            for method, operation in methods.items()
        ]

    def resolve(self, part):
        while "$ref" in part:
            node = self.doc
            for step in part["$ref"][2:].split("/"):
                node = node[step]
            part = node
        return part

    def find(self, method, path):
        """The operation that answers, its path as the document has it; or None."""
        path = path.split("?")[0]
        for known_method, template, operation in self.operations:
            pattern = re.sub(r"\\\{[^/]*\\\}", "[^/]+", re.escape(template))
            if method == known_method and re.fullmatch(pattern, path):
                return template, operation
        return None, None

    def has_fields(self, schema):
        schema = self.resolve(schema)
        return "properties" in schema or any(self.has_fields(part) for part in schema.get("allOf", []))

    def to_json_schema(self, schema, is_part=False):
        """As JSON Schema 2020-12, where an object has no fields but those it names.
        `is_part`: of an allOf, whose other parts may name more."""
        result = {}
        for key, value in schema.items():
            if key == "properties":
                result[key] = {name: self.to_json_schema(part) for name, part in value.items()}
            elif key in ("oneOf", "anyOf"):
                result[key] = [self.to_json_schema(part) for part in value]
            elif key == "allOf":
                result[key] = [self.to_json_schema(part, True) for part in value]
            elif key in ("items", "additionalProperties") and isinstance(value, dict):
                result[key] = self.to_json_schema(value)
            elif key == "$ref":
                result[key] = value.replace("#/components/schemas/", "#/$defs/")
            elif key not in ("nullable", "discriminator", "example"):
                result[key] = value
        if not is_part and "additionalProperties" not in schema and self.has_fields(schema):
            result["unevaluatedProperties"] = False
        return or_null(result) if schema.get("nullable") else result

    def validator(self, schema):
        whole = self.to_json_schema(schema)
        # Those that are referred to are open; whoever refers to them closes them.
        whole["$defs"] = {
            name: self.to_json_schema(part, True) for name, part in self.doc["components"]["schemas"].items()
        }
        return jsonschema.Draft202012Validator(whole)

    def misfits(self, schema, value):
        errors = list(leaves(self.validator(schema).iter_errors(value)))
        # Where a part does not fit, the whole seems to have fields that nothing knows.
        errors = [e for e in errors if e.validator != "unevaluatedProperties"] or errors
        errors.sort(key=lambda e: -len(list(e.absolute_path)))
        return errors and f"{errors[0].json_path}: {errors[0].message[-300:]}"


# --- Requests -------------------------------------------------------------------


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.type = response.headers.get("Content-Type", "").split(";")[0]
        # Events go on for ever: the first lines are enough.
        self.data = response.readline() if self.type == "text/event-stream" else response.read()

    def json(self):
        return json.loads(self.data)


class Run:
    def __init__(self, document, folder, phase):
        self.document = document
        self.folder = folder
        self.phase = phase
        self.saved_path = os.path.join(folder, "saved")
        self.saved = {}
        if os.path.exists(self.saved_path):
            with open(self.saved_path, encoding="utf-8") as file:
                self.saved = json.load(file)
        self.failures = []

    def send(self, who, method, path, body, headers):
        connection = UnixConnection(os.path.join(self.folder, who + ".sock"))
        try:
            connection.request(method, path, body, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def note(self, who, method, template, answer):
        role = api_requests.ROLES[who]
        with open(os.path.join(self.folder, "occurred"), "a", encoding="utf-8") as file:
            file.write(json.dumps([role, method, template, str(answer.status), answer.type]) + "\n")

    def check_content(self, contents, answer):
        if answer.type not in contents:
            raise Failure(f"content type {answer.type!r} is not documented")
        schema = contents[answer.type]["schema"]
        if schema.get("type") == "string":
            if not answer.data:
                raise Failure("the answer is empty")
            return
        texts = answer.data.splitlines() if answer.type == "application/x-ndjson" else [answer.data]
        for text in texts:
            wrong = text.strip() and self.document.misfits(schema, json.loads(text))
            if wrong:
                raise Failure(f"does not fit its schema: {wrong}")

    def check(self, who, method, path, answer):
        """That the document has such an answer; notes it."""
        template, operation = self.document.find(method, path)
        responses = operation["responses"] if operation else {}
        if str(answer.status) in responses:
            response = responses[str(answer.status)]
            self.note(who, method, template, answer)
        else:
            response = {"$ref": "#/components/responses/Unexpected"}
            code = answer.json().get("error", {}).get("code") if answer.type == "application/json" else None
            if code not in DEFAULT_CODES:
                raise Failure(f"status {answer.status} ({code}) is not documented")
        self.check_content(self.document.resolve(response)["content"], answer)

    def fill(self, value):
        """With what earlier answers said: "{probe}"."""
        whole = isinstance(value, str) and re.fullmatch(r"\{(\w+)\}", value)
        if whole:
            return self.saved[whole[1]]
        if isinstance(value, str):
            return re.sub(r"\{(\w+)\}", lambda m: str(self.saved[m[1]]), value)
        if isinstance(value, dict):
            return {key: self.fill(part) for key, part in value.items()}
        return [self.fill(part) for part in value] if isinstance(value, list) else value

    def remember(self, ask, answer):
        for name, steps in ask.save.items():
            value = answer.json()
            for step in steps:
                value = value[step]
            self.saved[name] = value

    def once(self, ask):
        """One request; whether it was answered as wanted, and the answer."""
        method, path = self.fill(ask.request).split(" ", 1)
        body = ask.body if isinstance(ask.body, (bytes, type(None))) else json.dumps(self.fill(ask.body)).encode()
        if ask.is_over_budget:
            self.spend_budget(ask.who)
        answer = self.send(ask.who, method, path, body, self.fill(ask.headers))
        self.check(ask.who, method, path, answer)
        if answer.status != ask.status:
            return False, answer
        try:
            self.remember(ask, answer)
        except (KeyError, IndexError, TypeError):
            return False, answer # What is waited for is not there yet.
        return not ask.until or ask.until(answer.json()), answer

    def spend_budget(self, who):
        """Of requests: by ones that take no time, as a second gives a new one."""
        for _ in range(1000):
            if self.send(who, "GET", "/v1/whoami", None, {}).status == 429:
                return
        raise Failure("1000 requests are within the budget")

    def make(self, ask):
        """The request, and again where it has to wait for its answer."""
        end = time.monotonic() + PATIENCE_S
        tries = 0
        while True:
            is_right, answer = self.once(ask)
            tries += 1
            if is_right:
                return
            if tries >= ask.times and (not ask.waits or time.monotonic() > end):
                raise Failure(f"status {answer.status}, not as wanted ({ask.status}): {answer.data[:300]!r}")
            if ask.waits:
                time.sleep(0.05)

    def run(self, asks):
        for ask in asks:
            what = f"{ask.who}: {ask.request} -> {ask.status}"
            try:
                if ask.streams:
                    self.with_streams(ask)
                else:
                    self.make(ask)
                print(f"ok {what}")
            except (Failure, OSError, http.client.HTTPException, ValueError, KeyError) as error:
                print(f"not ok {what}\n#   {type(error).__name__}: {error}")
                self.failures.append(what)
        with open(self.saved_path, "w", encoding="utf-8") as file:
            json.dump(self.saved, file)
        return not self.failures

    def with_streams(self, ask):
        """Makes the request while so many others are open."""
        connections = []
        try:
            for _ in range(ask.streams):
                connection = UnixConnection(os.path.join(self.folder, ask.who + ".sock"))
                connections.append(connection)
                connection.request(*ask.request.split(" ", 1))
                connection.getresponse().readline()
            self.make(ask)
        finally:
            for connection in connections:
                connection.close()


# --- What follows from the document ------------------------------------------------


def concrete(path):
    return re.sub(r"\{[^/]*\}", "nosuch", path)


def wrong_requests(document):
    """What every daemon must refuse, whatever it is asked."""
    for method, path, operation in document.operations:
        for who in (w for w in api_requests.DAEMONS if api_requests.ROLES[w] in operation["tags"]):
            request, responses = f"{method} {concrete(path)}", operation["responses"]
            yield api_requests.Ask(who, request + "?nosuch=1", 400)
            if "{" in path:
                yield api_requests.Ask(who, request, 404, {} if operation.get("requestBody") else None)
            if operation.get("requestBody"):
                yield api_requests.Ask(who, request, 413, b" " * (1 << 20) + b"{}")
                if "{" not in path:
                    yield api_requests.Ask(who, request, 400, b"{")
                    yield api_requests.Ask(who, request, 400, b'{"nosuch": 1}')
            if "405" not in responses:
                yield api_requests.Ask(who, f"PATCH {concrete(path)}", 405, b"")
    for who in api_requests.DAEMONS:
        yield api_requests.Ask(who, "GET /v1/nosuch", 404)


def of_controller(document):
    return [o for o in document.operations if "controller" in o[2]["tags"]]


def unauthorized(document):
    for method, path, _ in of_controller(document):
        yield api_requests.Ask("guarded", f"{method} {concrete(path)}", 401)


def forbidden(document):
    headers = {"Authorization": "Bearer {viewer}"}
    for method, path, operation in of_controller(document):
        if "403" in operation["responses"]:
            yield api_requests.Ask("guarded", f"{method} {concrete(path)}", 403, headers=headers)


def over_budget(document):
    for method, path, _ in of_controller(document):
        yield api_requests.Ask("limited", f"{method} {concrete(path)}", 429, times=50, is_over_budget=True)


def not_active(document):
    for method, path, _ in of_controller(document):
        if method != "GET":
            yield api_requests.Ask("standby", f"{method} {concrete(path)}", 503)


FOLLOWING = {
    "up": [wrong_requests],
    "guarded": [unauthorized, forbidden],
    "limited": [over_budget],
    "standby": [not_active],
    "alone": [],
}


# --- The verdict -----------------------------------------------------------------


def verdict(document, folder):
    with open(os.path.join(folder, "occurred"), encoding="utf-8") as file:
        occurred = {tuple(json.loads(line)) for line in file}
    answers = {(method, path, status) for _, method, path, status, _ in occurred}
    missing = []
    for method, path, operation in document.operations:
        for status, response in operation["responses"].items():
            if status == "default":
                continue
            if (method, path, status) not in answers:
                missing.append(f"{method} {path}: {status} never occurred")
            for kind in document.resolve(response)["content"]:
                if not any(o[1:] == (method, path, status, kind) for o in occurred):
                    missing.append(f"{method} {path}: {status} never occurred as {kind}")
        for role in operation["tags"]:
            if not any(o[:3] == (role, method, path) and o[3][0] == "2" for o in occurred):
                missing.append(f"{method} {path}: {role} never said yes")
    for line in sorted(set(missing)):
        print("not ok " + line)
    print(f"{len(answers)} documented answers occurred, {len(missing)} did not")
    return not missing


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in [*FOLLOWING, "verdict"]:
        sys.exit(__doc__)
    document, folder, phase = Document(sys.argv[1]), sys.argv[2], sys.argv[3]
    if phase == "verdict":
        sys.exit(0 if verdict(document, folder) else 1)
    asks = list(api_requests.REQUESTS[phase])
    for generate in FOLLOWING[phase]:
        asks += generate(document)
    sys.exit(0 if Run(document, folder, phase).run(asks) else 1)


if __name__ == "__main__":
    main()
