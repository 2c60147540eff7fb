"""What commands show, print and write."""
