"""What stands between the browser and the pages: headers, sockets, log-in, who is there."""
