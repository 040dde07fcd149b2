// Package systemtest tests whole service providers on three real API servers: platform, onboarding and control plane. A
// clusterstest.Granter takes the role of the platform.
package systemtest
