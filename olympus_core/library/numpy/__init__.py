"""Functions of `olympus.numpy`, in the folders of NumPy's reference manual.

`creation`      arrays from values, shapes and ranges: `array`, `zeros`, `arange`, `eye`, `meshgrid`
`manipulation`  shapes and orders: `reshape`, `transpose`, `concatenate`, `split`, `tile`, `pad`
`indexing`      `x[...]`, `x.at[...]`, `take`, `select`, `unravel_index`
`elementwise`   one number for each element: arithmetic, logic, bits, rounding, trigonometry
`reductions`    one number for many: sums, extrema, means, quantiles, histograms; cumulative sums
`sorting`       sorting, searching (`where`, `argmax`), and sets
`products`      `matmul`, `dot`, `einsum`, which every program imports
`linalg`        the rest of linear algebra, imported when it is used
`polynomials`   `polyval`, `polyfit`, `roots`
`fft`           discrete Fourier transforms
`signal`        convolution, windows, differences, interpolation
`dtypes`        scalar types, and queries of dtypes
`functional`    `vectorize`, `apply_along_axis`, `piecewise`
`printing`      the options of printed arrays
`array_api`     the inspection functions of the array API standard
"""
