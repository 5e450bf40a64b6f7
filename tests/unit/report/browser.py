"""Open a page in a real browser, and look for problems of accessibility."""

from axe_playwright_python.sync_playwright import Axe


def open_page(chromium, path, width, ready="body[data-ready]"):
    """Open a page; give it with everything that it complained of or asked the network for."""
    page = chromium.new_page(viewport={"width": width, "height": 800})
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if is_network(request) else 0)
    page.goto(path.as_uri())
    page.wait_for_selector(ready, timeout=120_000)
    return page, complaints


def is_network(request):
    return not request.url.startswith(("file:", "data:", "blob:"))


def serious_problems(page):
    """Find problems of accessibility, and close the page."""
    found = Axe().run(page).response["violations"]
    page.close()
    return [
        (problem["id"], problem["nodes"][0]["html"])
        for problem in found
        if problem["impact"] in ("serious", "critical")
    ]
