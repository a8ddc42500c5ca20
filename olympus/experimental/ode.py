"""`olympus.experimental.ode`: ordinary differential equations, with an adjoint derivative."""

from olympus_core.extension.transformations import ravel_first_arg_ as ravel_first_arg_
from olympus_core.library.ode import abs2 as abs2
from olympus_core.library.ode import fit_4th_order_polynomial as fit_4th_order_polynomial
from olympus_core.library.ode import initial_step_size as initial_step_size
from olympus_core.library.ode import interp_fit_dopri as interp_fit_dopri
from olympus_core.library.ode import mean_error_ratio as mean_error_ratio
from olympus_core.library.ode import odeint as odeint
from olympus_core.library.ode import optimal_step_size as optimal_step_size
from olympus_core.library.ode import ravel_first_arg as ravel_first_arg
from olympus_core.library.ode import runge_kutta_step as runge_kutta_step
