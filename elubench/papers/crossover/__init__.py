"""The crossover between one component and two: claims of our own."""
