"""Tables of a page: as HTML and markdown, as files, and what sorts and searches them."""
