"""Growing trees on coded columns: plans, threads, the two steps, collected trees."""
