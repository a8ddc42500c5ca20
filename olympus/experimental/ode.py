"""`olympus.experimental.ode`: ordinary differential equations, with an adjoint derivative."""

from olympus_core.library.ode import odeint as odeint
