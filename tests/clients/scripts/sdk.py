"""Ask through the official Python SDK.

Arguments   steps, each {"do": "answers" | "models" | "error", …}. Prints one result for each.
            `options` of a step go to the client, `ask` to `system_one`; the base address comes from TYPESAFE_BASE_URL
            unless `options` name one.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from typesafe_sdk import RetryPolicy, TypeSafeAPIError, TypeSafeClient


def client_of(step):
    options = dict(step.get("options", {}))
    if "max_retries" in options:
        options["retry"] = RetryPolicy(max_retries=options.pop("max_retries"), timeout=None)
    return TypeSafeClient(**options)


def answers(client, step):
    response = client.system_one(**step["ask"])
    request = response.raw_http_response.request
    return {
        "model": response.model,
        "usage": response.usage.model_dump(),
        "answers": {name: answer.model_dump(mode="json") for name, answer in response.answers.items()},
        "kinds": [sorted(response.nouls), sorted(response.choices), sorted(response.scores)],
        "request_id": response.request_id,
        "sent_encoding": request.headers.get("content-encoding"),
        "sent_bytes": int(request.headers["content-length"]),
        "body": response.raw_http_response.json(),
    }


def models(client, step):
    response = client.models.list()
    return {"models": [model.model_dump() for model in response.models], "request_id": response.request_id}


def do(step):
    with client_of(step) as client:
        try:
            return {"answers": answers, "models": models}[step["do"]](client, step)
        except TypeSafeAPIError as error:
            return {
                "class": type(error).__name__,
                "status": error.status,
                "text": str(error),
                "message": error._message,
                "request_id": error.request_id,
                "retry_after_ms": getattr(error, "retry_after_ms", None),
            }


steps, together = json.loads(sys.stdin.readline())
if together:
    with ThreadPoolExecutor(len(steps)) as pool:
        done = list(pool.map(do, steps))
else:
    done = [do(step) for step in steps]
print(json.dumps(done))
