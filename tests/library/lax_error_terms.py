"""The errors of `olympus.lax` that `test_error_terms` compares with JAX's."""

# ruff: noqa: E501 - terms are not split into lines

from __future__ import annotations

#: an expression and, in the next line, the term that both messages contain
LAX_ROWS = r"""
lax.broadcasted_iota('int32', (2, 3), 2)
    iota dimension must be between 0 and len\(shape\), got
lax.abs(jnp.ones(3, 'uint8'))
    abs does not accept dtype uint8\. Accepted dtypes are subtypes of
lax.conv(ones((1, 2, 4)), ones((1, 2, 2)), (1,), 'SAME', preferred_element_type='bfloat16')
    `preferred_element_type` must not be narrower than the original type
lax.conv(ones((1, 2, 4)), ones((1, 2, 2)), (1,), 'SAME', preferred_element_type='int32')
    Input type is incompatible with `preferred_element_type`\. The compatible combinations
lax.conv(jnp.ones((1, 2, 4), 'int8'), jnp.ones((1, 2, 2), 'int8'), (1,), 'SAME', preferred_element_type='uint32')
    `preferred_element_type` must have the same signedness as the original type
lax.conv_general_dilated(ones((1, 2, 4)), ones((1, 2, 2)), (1,), [0])
    should be a string or a sequence of \(low, high\) pairs, got \[0\]
lax.conv_general_dilated(ones((1, 2, 4)), ones((1, 2, 2)), (1,), 'SAME', lhs_dilation=(2,))
    Please either exactly specify the required padding or use conv_transpose\.
lax.broadcast(A, (-1,))
    broadcast_in_dim shape must have every element be nonnegative, got
lax.broadcast_in_dim(A, (2, 3, 4), (-1, 2))
    broadcast_in_dim broadcast_dimensions must have every element be nonnegative, got \(-1, 2\)
lax.broadcast_in_dim(ones((2, 2)), (2, 2), (0, 0))
    broadcast_in_dim broadcast_dimensions must not contain duplicates, got
lax.broadcast_shapes((-1,), (2,))
    Only non-negative indices are allowed when broadcasting static shapes, but got shape \(-1,\)
lax.iota(None, 3)
    dtype must be specified
lax.iota('S', 3)
    JAX only supports number, bool, and string dtypes, got dtype
lax.rev(A, (-1,))
    rev dimensions must have every element be nonnegative, got \(-1,\)
lax.tile(A, (2,))
    reps length must be equal to the ndim of x, got len\(reps\)=1 and x\.ndim=2\.
lax.full_like(A, ones(2))
    full must be called with scalar fill_value, got fill_value\.shape \(2,\)
lax.rng_uniform(0, 1.0, (3,))
    Arguments to rng_uniform must have identical dtypes, got int32 and float32\.
lax.rng_bit_generator(jnp.zeros(4, 'uint32'), (3,), dtype='int32')
    rng_bit_generator: unsupported dtype int32
lax.sort(A, num_keys=2)
    num_keys=2 must equal 1 for a single operand\.
lax.reduce_window((), (), lax.add, (2,))
    reduce_window must have at least one operand\.
lax.reduce_window(A, jnp.zeros(1), lax.add, (2, 2))
    reduce_window expected init_values to be scalars but init_values have shapes \[\(1,\)\]
lax.reduce_window(A, 1., lambda x, y: (x, y), (2, 2))
    reduce_window output must have the same tree structure as the operands
lax.dynamic_slice(A, (-1, 0), (1, 1), allow_negative_indices=False)
    Index -1 is out of bounds for dimension 3 if allow_negative_indices=False
lax.dynamic_update_slice_in_dim(A, A, -1, 0, allow_negative_indices=False)
    Index -1 is out of bounds for dimension 3 if allow_negative_indices=False
lax.dynamic_slice(A, jnp.zeros((2, 2), int), (1, 1))
    Slice indices must be a 1D sequence, got \(2, 2\)
A.reshape(-1, 5)
    into shape \(-1, 5\) because the product of specified axis sizes \(5\) does not evenly divide 12
A.reshape((4, 3), order='A')
    np\.reshape order=A is not implemented\.
A.reshape((4, 3), order='Z')
    Unexpected value for 'order' argument: Z\.
lax.broadcasted_iota('bool', (2, 3), 0)
    iota does not accept dtype bool\. Accepted dtypes are
lax.iota('int32', -1)
    shape must have every element be nonnegative, got \(-1,\)
lax.reshape(A, (12,), dimensions=(0,))
    reshape dimensions must be a permutation of operand dimensions, got dimensions \(0,\)
lax.pad(A, jnp.int32(0), [(0, 0, 0), (0, 0, 0)])
    pad operand and padding_value must be same dtype: got float32 and int32
lax.cumsum(A, 2)
    axis 2 is out of bounds for array of shape \(3, 4\)
lax.iota('int32', 2.5)
    Shapes must be 1D sequences of concrete values of
lax.rev(A, (2,))
    rev dimensions must all be less than operand ndim
lax.rev(A, (0, 0))
    rev dimensions must be unique, got \(0, 0\)
lax.collapse(A, 1, 0)
    Invalid dimension range passed to collapse: \(3, 4\)\[1:0\]
lax.concatenate([A, A], 2)
    concatenate dimension out of bounds: dimension 2 for shapes
lax.concatenate([A, A], -1)
    concatenate dimension out of bounds: dimension -1 for shapes
lax.concatenate([], 0)
    concatenate requires a non-empty sequences of arrays
lax.complex(jnp.float16(1), jnp.float16(2))
    complex does not accept dtype float16 at position 0\. Accepted dtypes at position 0 are
lax.ragged_dot(A, jnp.ones((2, 4, 2)), jnp.ones(2))
    ragged_dot_general requires that group_sizes\.dtype is subtype of np\.integer
lax.split(A, (1, 2), axis=1)
    Sum of sizes 3 must be equal to dimension
lax.pad(A, 0., [(-4, 0, 0), (0, 0, 0)])
    Dimension size after padding is not at least 0
lax.pad(A, 0., [(1, 1, -1), (0, 0, 0)])
    interior padding in padding_config must be nonnegative, got padding_config
lax.pad(A, 0., [(1, 1, 0)])
    length of padding_config must equal the number of axes
lax.slice(A, (0, 1), (2, 3), (1,))
    slice strides must have length equal to the number
lax.dynamic_slice(A, (1,), (2, 2))
    Length of slice indices must match number of operand
lax.dynamic_slice(A, (1., 1), (2, 2))
    index arguments to dynamic_slice must be integers of the
lax.dynamic_slice(A, (np.int32(1), np.int16(2)), (2, 2))
    index arguments to dynamic_slice must be integers of the same type, got: int32, int16
lax.dynamic_update_slice(A, A[:2], (np.int8(1), np.uint8(2)))
    index arguments to dynamic_update_slice must be integers of the same type, got
lax.split(A, (7, -1))
    Sizes passed to split must be nonnegative, got
lax.expand_dims(A, (0, 0))
    repeated axis in lax.expand_dims: \(0, 0\)
lax.squeeze(A[None], (0, 0))
    dimensions are not unique: \(0, 0\)
lax.top_k(jnp.array([1j, 2j]), 1)
    top_k is not compatible with complex inputs
lax.switch(1.0, [lambda: 1, lambda: 2])
    Index type must be an integer, got 1\.0 as float32
lax.switch(np.arange(2), [lambda: 1, lambda: 2])
    Branch index must be scalar, got \[0 1\] of shape \(2,\)
lax.dynamic_slice(A, (jnp.array([1]), 1), (2, 2))
    start_indices arguments to dynamic_slice must be scalars, got indices
lax.dynamic_update_slice(A, ones(2), (1, 1))
    dynamic_update_slice update must have the same rank as operand
lax.dynamic_update_slice(A, ones((5, 5)), (1, 1))
    dynamic_update_slice update shape must be smaller than operand shape
lax.gather(A, jnp.array([[0], [7]]), GD((1,), (0,), (0,)), (1, 4), mode='x')
    Unknown gather mode "x"
lax.gather(A, jnp.array([[0.], [2]]), GD((1,), (0,), (0,)), (1, 4))
    indices must have an integer type
lax.gather(A, I, GD((1,), (0,), (0,)), (1, 5))
    Slice size at index 1 in gather op is
lax.gather(A, I, GD((1,), (0,), (0,)), (1,))
    Gather op must have one slice size for every
lax.gather(A, I, GD((1,), (0,), (0,)), (2, 4))
    Gather op can only collapse slice dims with bound
lax.gather(A, I, GD((1,), (2,), (0,)), (1, 4))
    Invalid collapsed_slice_dims set in gather op; valid range is
lax.gather(A, I, GD((2,), (0,), (0,)), (1, 4))
    Offset dimension 0 in gather op is out of
lax.gather(A, I, GD((1,), (0,), (5,)), (1, 4))
    Invalid start_index_map; domain is \[0, 2\), got: 0->5
lax.gather(A, jnp.array([[0, 1], [2, 1]]), GD((1,), (0,), (0,)), (1, 4))
    Gather op has 1 elements in start_index_map and the
lax.gather(A, I, GD((1, 1), (0,), (0,)), (1, 4))
    offset_dims in gather op must not repeat; got: \(1
lax.gather(A, I, GD((1, 0), (), (0,)), (1, 4))
    offset_dims in gather op must be sorted; got \(1
lax.gather(A, I, GD((1,), (0,), (0, 0)), (1, 4))
    Gather op has 2 elements in start_index_map and the
lax.gather(A, I, GD((1,), (0, 0), (0,)), (1, 4))
    collapsed_slice_dims in gather op must not repeat; got: \(0
lax.scatter_apply(A, I, jnp.sin, SD((1,), (0,), (0,)))
    Updates tensor must be of rank 2; got 0
lax.scatter(A, I, ones((2, 5)), SD((1,), (0,), (0,)))
    Bounds of the window dimensions of updates must not
lax.scatter(A, I, ones((3, 4)), SD((1,), (0,), (0,)))
    Bounds of the scatter dimensions of updates must be
lax.scatter(A, I, ones((2,)), SD((1,), (0,), (0,)))
    Updates tensor must be of rank 2; got 1
lax.scatter(A, I, ones((2, 4)), SD((1,), (0,), (3,)))
    Invalid scatter_dims_to_operand_dims mapping; domain is \[0, 2\), got: 0->3
lax.scatter(A, I, ones((2, 4)), SD((1,), (3,), (0,)))
    Invalid inserted_window_dims set in scatter op; valid range is
lax.scatter(A, I, ones((2, 4)), SD((2,), (0,), (0,)))
    Invalid update_window_dims set in scatter op; valid range is
lax.top_k(jnp.array([3, 1, 2]), 4)
    k argument to top_k must be no larger than
lax.top_k(jnp.array([3, 1, 2]), -1)
    k argument to top_k must be nonnegative, got -1
lax.argmax(A, 1, 'float32')
    index_dtype must be an integer type, but got float32
lax.argmax(A, 2, 'int32')
    Invalid axis 2 for operand shape \(3, 4\)
lax.argmax(A, -1, 'int32')
    Invalid axis -1 for operand shape \(3, 4\)
lax.argmin(ones((0, 2)), 0, 'int32')
    argmin and argmax require non-empty reduced dimension\. operand\.shape=\(0, 2\)
lax.reduce(A, jnp.zeros(1), lax.add, (0,))
    reduce found non-scalar initial value: \[\(1,\)\]
lax.reduce(A, 0., lax.add, (2,))
    reduction axes \(2,\) contains out-of-bounds indices for
lax.reduce(A, 0., lax.add, (-1,))
    reduction axes \(-1,\) contains out-of-bounds indices for
lax.cumsum(A, -1)
    XLA operations do not allow negative axes
lax.reduce(A, 0., lax.add, (0, 0))
    duplicate value in 'axes' of reduction: \(0, 0\)
lax.reduce((A, A), (0., ), lambda x, y:x, (0,))
    Operands must have the same tree structure as init_values
lax.reduce_precision(operand=A, exponent_bits=-1, mantissa_bits=2)
    reduce_precision: exponent_bits must be positive; got -1
lax.reduce_precision(A, 5, -2)
    reduce_precision: mantissa_bits must be non-negative; got -2
lax.reduce_window(A, 0., lax.add, (2,), (1, 1), 'VALID')
    reduce_window got the wrong number of window_dimensions for operand
lax.reduce_window(A, 0., lax.add, (2, 2), (1,), 'VALID')
    reduce_window got inconsistent window_strides and window_dimensions: got window_strides \(1,\)
lax.reduce_window(A, 0., lax.add, (2, 2), (0, 1), 'VALID')
    reduce_window window_strides must have every element be strictly positive
lax.reduce_window(A, 0., lax.add, (0, 2), (1, 1), 'VALID')
    reduce_window window_dimensions must have every element be strictly positive
lax.reduce_window(A, 0., lax.add, (2, 2), (1, 1), 'VALID', (0, 1))
    All dilations must be positive, got \(0
lax.reduce_window(A, 0., lax.add, (2, 2), (1, 1), 'VALID', (1, 1), (1, 0))
    All dilations must be positive, got \(1
lax.select_n(0)
    select_n\(\) must have at least one case
lax.clamp(jnp.zeros(4), A, 5.)
    clamp requires min\.shape == operand\.shape or min\.shape == \(\)
lax.bitcast_convert_type(ones((3, 3), 'uint8'), 'uint32')
    Attempting to convert array of shape \(3, 3\) from
lax.bitcast_convert_type(ones(2, 'complex64'), 'float32')
    lax\.bitcast_convert_type does not support bool or complex values unless
lax.full((2,), ones(2))
    full must be called with scalar fill_value, got fill_value\.shape
lax.dot(A, A)
    jax\.lax\.dot: dimension_numbers must be specified when not performing simple
lax.dot(ones(2), ones(2), precision='foo')
    Precision argument must be one of
lax.dot_general(A, A, (((1,), (1,)), ((0,), ())))
    dot_general requires equal numbers of lhs_batch and rhs_batch dimensions
lax.batch_matmul(ones((3,)), ones((3,)))
    Arguments to batch_matmul must be at least 2D, got
lax.conv(ones((1, 1, 4, 4)), ones((1, 2, 2, 2)), (1, 1), 'SAME')
    conv_general_dilated lhs feature dimension size divided by feature_group_count must
lax.conv(ones((1, 1, 4, 4)), ones((1, 1, 2)), (1, 1), 'SAME')
    convolution requires lhs and rhs ndim to be equal
lax.conv(ones((1, 1, 4, 4)), ones((1, 1, 2, 2)), (1,), 'SAME')
    conv_general_dilated window and window_strides must have the same number
lax.conv_with_general_padding(ones((1, 1, 4, 4)), ones((1, 1, 2, 2)), (1, 1), [(1, 1)], (1, 1), (1, 1))
    Wrong number of explicit pads for convolution: expected 2
lax.conv_general_dilated(ones((1, 4, 4, 1)), ones((2, 2, 1, 1)), (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO'))
    convolution dimension_numbers list/tuple must be length 3, got 2
lax.conv_general_dilated(ones((1, 4, 4, 1)), ones((2, 2, 1, 1)), (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWD'))
    convolution dimension_numbers\[2\] must contain the characters 'N' and 'C'
lax.conv_general_dilated(ones((1, 4, 4, 1)), ones((2, 2, 1, 1)), (1, 1), 'SAME', dimension_numbers=('NHWW', 'HWIO', 'NHWC'))
    convolution dimension_numbers\[0\] must contain the characters 'N' and 'C'
lax.conv_general_dilated(ones((1, 4, 4, 1)), ones((2, 2, 1, 1)), (1, 1), 'SAME', dimension_numbers=('HWC', 'HWIO', 'NHWC'))
    convolution dimension_numbers\[0\] must have len equal to the ndim
lax.conv_general_dilated(ones((1, 4, 4, 4)), ones((3, 2, 2, 2)), (1, 1), 'SAME', feature_group_count=2)
    conv_general_dilated rhs output feature dimension size must be a
lax.conv_general_dilated(ones((1, 4, 4, 4)), ones((4, 2, 2, 2)), (1, 1), 'SAME', feature_group_count=3)
    conv_general_dilated feature_group_count must divide lhs feature dimension size, but
lax.conv_general_dilated(ones((2, 4, 4, 4)), ones((4, 4, 2, 2)), (1, 1), 'SAME', lhs_dilation=(0, 1))
    String padding is not implemented for transposed convolution using
lax.conv_dimension_numbers((1, 1, 4, 4), (1, 1, 2, 2), 3)
    convolution dimension_numbers must be tuple/list or None, got <class
lax.fft(ones(4), 'foo', (4,))
    Unknown FFT type 'foo'
lax.fft(ones(4), 'rfft', (5,))
    RFFT input shape \(4,\) minor dimensions must be equal
lax.fft(ones(4, 'complex64'), 'rfft', (4,))
    only real valued inputs supported for rfft
lax.linalg.eig(ones((2, 3)))
    The input to eig must be a square matrix
lax.linalg.qr(ones(3))
    Input 0 to qr must have rank at least
lax.linalg.svd(ones(3))
    Input 0 to svd must have rank at least
lax.linalg.svd(ones((3, 2), int))
    svd does not accept dtype int32
lax.linalg.lu(ones(2))
    Input 0 to lu must have rank at least
lax.linalg.lu_pivots_to_permutation(jnp.array([1, 1], 'int32'), 1)
    Output permutation size 1 has to exceed the trailing
lax.linalg.lu_pivots_to_permutation(jnp.array([1., 1]), 3)
    lu_pivots_to_permutation does not accept dtype float32 at position 0
lax.linalg.triangular_solve(jnp.eye(2), ones((3, 3)))
    Incompatible shapes for arguments to triangular_solve: \(2, 2\) and
lax.linalg.householder_product(ones((3, 2)), ones(3))
    The second argument to householder_product must not have more
lax.linalg.householder_product(ones((2, 3)), ones(2))
    The first argument to householder_product must have at least
lax.linalg.tridiagonal(ones((3, 2)))
    The input to tridiagonal must be a square matrix
lax.linalg.tridiagonal_solve(jnp.zeros(3), ones(3), jnp.zeros(3), ones(3))
    Input 3 to tridiagonal_solve must have rank at least
lax.linalg.tridiagonal_solve(jnp.zeros(3), ones(2), jnp.zeros(3), ones((3, 1)))
    tridiagonal_solve requires that all diagonal arguments have the same
lax.linalg.tridiagonal_solve(jnp.zeros(3), ones(3), jnp.zeros(3), ones((3, 1), int))
    tridiagonal_solve does not accept dtype int32 at position 3
lax.linalg.schur(jnp.eye(2), sort_eig_vals=True)
    The sort feature of LAPACK's gees routine is not
lax.linalg.symmetric_product(ones((2, 3)), jnp.zeros((3, 3)))
    symmetric_update expects a rectangular matrix of shape \(m, n\)
lax.linalg.cholesky_update(jnp.eye(2), ones(3))
    Rank-1 update to Cholesky decomposition takes a square matrix
"""
LAX_LINES = LAX_ROWS.strip().splitlines()
LAX_TERMS = dict(zip(LAX_LINES[::2], map(str.strip, LAX_LINES[1::2]), strict=True))
