"""Index, get, search, bulk and delete with an official client of Elasticsearch or OpenSearch, as their guides do it.

Arguments   module name, node address, index. Prints what came back, without what differs from call to call.
"""

import importlib
import json
import sys
import warnings

module_name, url, index = json.loads(sys.stdin.readline())
warnings.simplefilter("ignore")  # security of the node is off, and the 7.17 client warns of it
module = importlib.import_module(module_name)
helpers = importlib.import_module(f"{module_name}.helpers")
version = module.__version__
major = int(str(version[0]) if isinstance(version, tuple) else version.split(".")[0])
is_typed = module_name == "elasticsearch" and major >= 8  # named arguments instead of bodies, answers as objects


def make():
    return (getattr(module, "Elasticsearch", None) or module.OpenSearch)([url])


def plain(answer):
    return answer.body if hasattr(answer, "body") else answer


def failed(call):
    """Class, status and text of the exception that the client raises."""
    try:
        call()
    except Exception as error:  # which one is the finding
        status = getattr(error, "status_code", None)
        return {"class": type(error).__name__, "status": status, "text": str(error)}
    return None


client = make()
found = {}
document = {"text": "Wo bleibt mein Paket? 配送 📦", "n": 1000}
odd_id = "p/q r+ä%2F?#"
argument = {"document": document} if is_typed else {"body": document}
found["info"] = failed(client.info)
found["ping"] = client.ping()
client.indices.create(index=index)
found["index"] = plain(client.index(index=index, id=odd_id, refresh=True, **argument))["result"]
found["get"] = plain(client.get(index=index, id=odd_id))["_source"]
found["get_id"] = plain(client.get(index=index, id=odd_id))["_id"]
found["exists"] = [bool(client.exists(index=index, id=each)) for each in (odd_id, "none")]
query = {"match": {"text": "paket"}}
hits = plain(client.search(index=index, **({"query": query} if is_typed else {"body": {"query": query}})))["hits"]
found["search"] = [[hit["_id"], hit["_score"], hit["_source"]] for hit in hits["hits"]]
actions = [{"_index": index, "_id": str(n), "_source": {"text": f"case {n}", "n": n}} for n in range(250)]
found["bulk"] = helpers.bulk(client, actions, chunk_size=100, refresh=True)
found["count"] = plain(client.count(index=index))["count"]
found["scan"] = sorted(hit["_source"]["n"] for hit in helpers.scan(client, index=index, size=100))
found["delete"] = plain(client.delete(index=index, id=odd_id))["result"]
found["missing"] = failed(lambda: client.get(index=index, id=odd_id))
found["conflict"] = failed(lambda: client.create(index=index, id="1", **argument))
found["bad_query"] = failed(lambda: client.search(index=index, body={"query": {"nonsense": {}}}))
client.indices.delete(index=index)
found["no_index"] = failed(lambda: client.search(index=index))
found = json.loads(json.dumps(found).replace(index, "INDEX"))
print(json.dumps(found))
