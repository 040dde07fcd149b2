// Package ready lets a test wait until an object is Ready, and reports why the object is not.
//
// Begin with Wait. A Log is the logger of the provider under test: it keeps the last lines, which Wait prints when it
// gives up, and counts the errors of each object, so that Wait gives up early:
//
//	var log ready.Log
//	mgr, err := ctrl.NewManager(cfg, ctrl.Options{Logger: log.Logger()})
//	// start the manager, create the object mg
//	ready.Wait(t, kube, mg, &log)
package ready
