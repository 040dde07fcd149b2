// Package controller has the options that the controllers of a provider share. Start with DefaultOptions, set the
// fields that your flags change, and pass the same Options to the setup of each controller.
//
// The controllers use a priority queue (NewQueue). It serves changes by users before polls, and no priority starves.
//
// A Lease knows until when this process is the leader. A RestoreDetector ends the process when the API server was
// restored from a backup. The detector gets resource versions from the Lease, or from a RestoreProbe if there is no
// lease.
package controller
