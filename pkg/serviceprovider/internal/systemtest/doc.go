// Package systemtest is for tests of whole service providers on three real API servers:
// platform, onboarding and control plane, with a granter that plays the platform.
package systemtest
