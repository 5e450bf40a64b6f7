"""The same fit between hospitals: what crosses a site's border, who may ask, and on what engine.

Only ``controller``, ``executor``, ``kits``, ``engine`` and ``centre`` know NVFLARE; the rest is
bytes and files.
"""
