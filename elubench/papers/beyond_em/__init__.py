"""Beyond EM Algorithm on Over-specified Two-Component Location-Scale Gaussian Mixtures."""
