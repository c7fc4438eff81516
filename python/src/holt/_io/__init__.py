"""The few parts that the asynchronous and the synchronous client do not share."""
