"""Where each name is that is loaded on its first use; made by docs/make_places.py.

A module -> its names. Those of the module "" are modules themselves.
"""


def _by_name(package: str, names: dict[str, str]) -> dict[str, str]:
    """Name -> the full name of its module."""
    found: dict[str, str] = {}
    for module, listed in names.items():
        place = f"{package}.{module}" if module else package
        found.update(dict.fromkeys(listed.split(), place))
    return found


OPS = _by_name("pullback.ops", {
    "":
        "activations arithmetic comparing complex_ convolution creation cumulative decompositions "
        "dropout_ dtypes exponential fourier hiding indexing joining lengths linalg losses "
        "normalising norms pooling products rounding scattering searching selecting shaping "
        "spectral statistics taking tiling trigonometric views",
    "activations":
        "elu erf erfc gelu hard_sigmoid hard_tanh leaky_relu log_sigmoid log_softmax logsumexp "
        "relu sigmoid silu softmax softplus",
    "arithmetic":
        "abs add copysign divide floor_divide multiply negative nextafter positive quotient "
        "reciprocal remainder sign signbit subtract",
    "comparing":
        "bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor "
        "equal greater greater_equal isfinite isinf isnan less less_equal logical_and logical_not "
        "logical_or logical_xor not_equal",
    "complex_":
        "angle conj imag make_complex real",
    "convolution":
        "conv1d conv2d conv_transpose2d",
    "creation":
        "arange asarray empty empty_like eye from_dlpack full full_like linspace ones ones_like "
        "tensor tril triu zeros zeros_like",
    "cumulative":
        "cumulative_prod cumulative_sum diff",
    "dropout_":
        "dropout embedding",
    "dtypes":
        "astype bool can_cast complex128 complex64 e finfo float16 float32 float64 iinfo inf "
        "int16 int32 int64 int8 isdtype nan newaxis pi result_type uint16 uint32 uint64 uint8",
    "exponential":
        "cbrt exp exp2 expm1 hypot log log10 log1p log2 logaddexp pow rsqrt sqrt square",
    "indexing":
        "add_at assign_at getitem set_at",
    "joining":
        "concat meshgrid pad split stack unstack",
    "lengths":
        "shape",
    "losses":
        "binary_cross_entropy_with_logits cross_entropy huber_loss l1_loss mse_loss nll_loss",
    "normalising":
        "batch_norm batch_statistics layer_norm rms_norm",
    "norms":
        "vector_norm",
    "pooling":
        "avg_pool2d max_pool2d",
    "products":
        "einsum matmul outer tensordot vecdot",
    "rounding":
        "ceil floor identity round stop_gradient trunc",
    "searching":
        "argmax argmin argsort isin nonzero searchsorted sort top_k unique_all unique_counts "
        "unique_inverse unique_values",
    "selecting":
        "clip maximum minimum where",
    "shaping":
        "broadcast_arrays broadcast_shapes broadcast_to expand_dims flip matrix_transpose "
        "moveaxis permute_dims ravel reshape roll squeeze swapaxes",
    "statistics":
        "all any count_nonzero max mean min prod std sum var",
    "taking":
        "take take_along_axis",
    "tiling":
        "repeat tile",
    "trigonometric":
        "acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan tanh",
})

FRONT_PAGE = _by_name("pullback", {
    "":
        "autograd configuration custom forward_accumulator inspection recording tape transforms "
        "trees variable",
    "configuration":
        "kernels set_kernels show_config",
    "custom.function":
        "Function once_differentiable",
    "custom.gradient":
        "custom_gradient",
    "custom.jvp":
        "custom_jvp",
    "custom.override":
        "Operation override_gradient register_gradient registered_gradient",
    "custom.ready":
        "clip_gradient reverse_gradient scale_gradient straight_through",
    "custom.vjp":
        "custom_vjp",
    "forward_accumulator":
        "ForwardAccumulator",
    "inspection":
        "__array_api_version__ __array_namespace_info__",
    "recording":
        "enable_grad inference_mode is_grad_enabled is_inference_mode_enabled keep_values no_grad "
        "set_grad_enabled",
    "tape":
        "GradientTape",
    "tools.debug":
        "debug",
    "transforms":
        "checkpoint checkpoint_sequential grad hessian hvp jacfwd jacobian jacrev jvp "
        "linear_transpose linearize safe_where value_and_grad vjp vmap",
    "variable":
        "Variable",
})

FRONT_PAGE |= {name: place for name, place in OPS.items() if place != "pullback.ops"}

APART = _by_name("pullback", {
    "":
        "distributed fft graphs linalg nn optim random solvers special tf torch",
    "distributed":
        "load_state save_state",
    "graphs":
        "TensorSpec function",
    "graphs.flow":
        "cond fori_loop map scan while_loop",
    "solvers":
        "fixed_point linear_solve odeint root",
    "tools.check":
        "check",
    "tools.draw":
        "draw",
    "tools.explain":
        "explain",
    "tools.monitor.monitor":
        "monitor",
    "tools.profile":
        "peak profile residuals",
    "xla.jit":
        "jit",
})

OPERATIONS = _by_name("pullback", {
    "custom.ready":
        "clip_gradient scale_gradient",
    "ops.activations":
        "elu erf erfc gate gelu hard_sigmoid hard_tanh leaky_relu log_sigmoid log_softmax "
        "logsumexp relu sigmoid silu softmax softplus",
    "ops.arithmetic":
        "abs add copysign divide floor_divide multiply negative nextafter positive "
        "product_or_zero quotient reciprocal remainder sign signbit subtract",
    "ops.comparing":
        "bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor "
        "equal greater greater_equal isfinite isinf isnan less less_equal logical_and logical_not "
        "logical_or logical_xor not_equal",
    "ops.complex_":
        "angle conj imag make_complex real view_as_complex view_as_real",
    "ops.convolution":
        "convolution convolution_input_adjoint convolution_weight_adjoint",
    "ops.creation":
        "empty_like full_like ones_like tril triu zeros_like",
    "ops.cumulative":
        "cumulative_prod cumulative_sum",
    "ops.decompositions":
        "cholesky lu qr",
    "ops.dtypes":
        "astype",
    "ops.exponential":
        "cbrt exp exp2 expm1 hypot log log10 log1p log2 logaddexp pow sqrt square",
    "ops.fourier":
        "fftn ifftn irfftn rfftn",
    "ops.hiding":
        "hide_axis show_axis",
    "ops.indexing":
        "add_at getitem scatter set_at take_last",
    "ops.joining":
        "concat pad stack",
    "ops.lengths":
        "shape",
    "ops.linalg":
        "solve",
    "ops.losses":
        "cross_entropy cross_entropy_slope logistic_loss",
    "ops.normalising":
        "normalise",
    "ops.norms":
        "vector_norm",
    "ops.pooling":
        "max_pool max_pool_gather max_pool_scatter sum_pool sum_pool_adjoint",
    "ops.products":
        "einsum matmul vecdot",
    "ops.rounding":
        "ceil floor identity round trunc",
    "ops.scattering":
        "to_device",
    "ops.searching":
        "argmax argmin argsort isin searchsorted sort",
    "ops.selecting":
        "clip larger_share maximum minimum where",
    "ops.shaping":
        "broadcast_to expand_dims flip matrix_transpose permute_dims reshape roll squeeze",
    "ops.spectral":
        "eig eigh eigvalsh svd svdvals",
    "ops.statistics":
        "all any count_nonzero max mean min prod std sum var",
    "ops.taking":
        "take",
    "ops.tiling":
        "repeat tile",
    "ops.trigonometric":
        "acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan tanh",
    "ops.views":
        "put_view scatter_view take_view",
})

NUMPY = _by_name("pullback", {
    "ops.arithmetic":
        "absolute=abs fabs=abs true_divide=divide",
    "ops.comparing":
        "invert=bitwise_invert left_shift=bitwise_left_shift right_shift=bitwise_right_shift",
    "ops.complex_":
        "conjugate=conj",
    "ops.creation":
        "ones_like=ones_like tril=tril triu=triu zeros_like=zeros_like",
    "ops.cumulative":
        "cumulative_prod=cumulative_prod cumulative_sum=cumulative_sum",
    "ops.determinants":
        "linalg.det=det linalg.slogdet=slogdet",
    "ops.dtypes":
        "astype=astype",
    "ops.exponential":
        "power=pow",
    "ops.fourier":
        "fft.fftshift=fftshift fft.ifftshift=ifftshift",
    "ops.joining":
        "unstack=unstack",
    "ops.linalg":
        "linalg.solve=solve",
    "ops.matrices":
        "linalg.cross=cross linalg.diagonal=diagonal linalg.matrix_norm=matrix_norm "
        "linalg.matrix_power=matrix_power linalg.trace=trace",
    "ops.norms":
        "linalg.vector_norm=vector_norm",
    "ops.products":
        "linalg.matmul=matmul linalg.outer=outer linalg.tensordot=tensordot linalg.vecdot=vecdot "
        "tensordot=tensordot",
    "ops.rounding":
        "copy=identity fix=trunc rint=round",
    "ops.searching":
        "argmax=argmax argmin=argmin nonzero=nonzero unique_all=unique_all "
        "unique_counts=unique_counts unique_inverse=unique_inverse unique_values=unique_values",
    "ops.shaping":
        "flip=flip linalg.matrix_transpose=matrix_transpose matrix_transpose=matrix_transpose "
        "moveaxis=moveaxis roll=roll swapaxes=swapaxes",
    "ops.solving":
        "linalg.inv=inv",
    "ops.spectral":
        "linalg.eig=eig linalg.eigvals=eigvals linalg.svdvals=svdvals",
    "ops.statistics":
        "count_nonzero=count_nonzero",
    "ops.tiling":
        "repeat=repeat",
    "ops.trigonometric":
        "arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan2=atan2 arctan=atan "
        "arctanh=atanh",
})

TORCH = _by_name("pullback", {
    "ops.activations":
        "special_expit=sigmoid",
    "ops.arithmetic":
        "absolute=abs neg=negative sgn=sign",
    "ops.comparing":
        "bitwise_not=bitwise_invert eq=equal ge=greater_equal gt=greater le=less_equal lt=less "
        "ne=not_equal",
    "ops.complex_":
        "complex(real,imag)=make_complex conj_physical=conj view_as_real(input)=view_as_real",
    "ops.creation":
        "tril(input,diagonal)=tril triu(input,diagonal)=triu",
    "ops.decompositions":
        "linalg.cholesky(A,*,upper)=cholesky",
    "ops.determinants":
        "linalg.det(A)=det linalg.slogdet(A)=slogdet",
    "ops.joining":
        "unbind(input,dim)=unstack",
    "ops.matrices":
        "linalg.cross(input,other,*,dim)=cross linalg.matrix_exp(A)=expm "
        "linalg.matrix_power(A,n)=matrix_power",
    "ops.products":
        "linalg.vecdot(x,y,*,dim)=vecdot outer(input,vec2)=outer tensordot(a,b,dims)=tensordot",
    "ops.rounding":
        "clone=identity fix=trunc",
    "ops.searching":
        "argmax(input,dim,keepdim)=argmax argmin(input,dim,keepdim)=argmin",
    "ops.shaping":
        "moveaxis(input,source,destination)=moveaxis movedim(input,source,destination)=moveaxis "
        "roll(input,shifts,dims)=roll swapaxes(input,dim0,dim1)=swapaxes "
        "transpose(input,dim0,dim1)=swapaxes",
    "ops.solving":
        "linalg.inv(A)=inv",
    "ops.special_bessel":
        "special.bessel_j0=j0 special.bessel_j1=j1 special.modified_bessel_i0=i0 "
        "special.modified_bessel_i1=i1",
    "ops.special_bessel_second":
        "special.bessel_y0=y0 special.bessel_y1=y1 special.modified_bessel_k0=k0 "
        "special.modified_bessel_k1=k1 special.scaled_modified_bessel_k0=k0e "
        "special.scaled_modified_bessel_k1=k1e",
    "ops.special_gamma":
        "lgamma=gammaln",
    "ops.special_incomplete":
        "igamma=gammainc igammac=gammaincc",
    "ops.spectral":
        "linalg.eig(A)=eig linalg.eigvals(A)=eigvals",
    "ops.trigonometric":
        "arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan2=atan2 arctan=atan "
        "arctanh=atanh",
})
