//! Files outside the workspace, devices, links.
