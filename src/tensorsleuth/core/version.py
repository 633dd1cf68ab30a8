"""Which tensorsleuth this is: traces say who wrote them."""

VERSION = "0.1.0"
