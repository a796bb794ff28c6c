"""Ask `/_decide` through an official client of Elasticsearch or OpenSearch.

Arguments   module name, sidecar address, index, question, media type. Prints the answer and three refusals.
"""

import importlib
import json
import sys

module_name, url, index, question, media = json.loads(sys.stdin.readline())
module = importlib.import_module(module_name)


def ask(body):
    """Each refusal gets a client of its own: official ones count a 422 as a dead node and back off."""
    client = (getattr(module, "Elasticsearch", None) or module.OpenSearch)([url])
    headers = {"accept": media, "content-type": media}
    if hasattr(client, "perform_request"):
        answer = client.perform_request("POST", "/_decide", body=body, headers=headers)
        return answer.body, answer.meta.headers["content-type"]
    answer = client.transport.perform_request("POST", "/_decide", body=body, headers=headers)
    return answer, None


def refused(body):
    try:
        ask(body)
    except Exception as error:  # which one is the finding
        body = getattr(error, "body", None) or getattr(error, "info", None)
        status = getattr(error, "status_code", None)
        return {"class": type(error).__name__, "status": status, "text": str(error), "body": body}
    return None


answer, content_type = ask({"index": index, "question": question})
print(
    json.dumps(
        {
            "answer": answer,
            "content_type": content_type,
            "no_such_index": refused({"index": "no-such-history", "question": question}),
            "no_question": refused({"index": index}),
            "pattern": refused({"index": "*", "question": question}),
        }
    )
)
