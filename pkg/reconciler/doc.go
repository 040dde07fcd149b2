// Package reconciler is package [managed] under the import path that providers
// were written for: what has the same name is the same thing, so that both may
// be mixed freely. New code imports managed itself, whose documentation says
// how everything behaves.
package reconciler

import "github.com/moorage-dev/moorage/pkg/reconciler/managed"

const (
	// FinalizerName is [managed.FinalizerName].
	FinalizerName = managed.FinalizerName

	// UnclaimedFinalizer is [managed.UnclaimedFinalizer].
	UnclaimedFinalizer = managed.UnclaimedFinalizer

	// StampKey is [managed.StampKey].
	StampKey = managed.StampKey
)
