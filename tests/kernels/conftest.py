from __future__ import annotations

import pytest
from calling import compiled, interpreted


@pytest.fixture(params=[interpreted, compiled], ids=lambda way: way.__name__)
def call(request):
    """``call(function, *arguments)``, for what machine code may do differently: every wrapper takes time to compile."""
    return request.param
