package plan

import (
	"context"
	stderrors "errors"
	"flag"
	"io"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A Provider is the provider whose plans are shown. All fields but Version and Credentials are required.
type Provider struct {
	// Name and Version are those of the provider.
	Name, Version string

	// Config returns the access to the cluster. The argument is the path of a kubeconfig, or empty for the default.
	Config func(kubeconfig string) (*rest.Config, error)

	// Manager returns the options of the provider's manager for objects of these namespaces. None means all.
	Manager func(namespaces []string) manager.Options

	// Credentials lets Setup use the Secret of this name in place of those that the configurations of the provider
	// name. It is called before Setup, and only with the flag --credentials-secret. If it is nil, there is no such flag.
	Credentials func(secret types.NamespacedName)

	// Setup sets up all kinds with a manager, as the provider does. The manager sends no write, and runs nothing.
	Setup func(ctx context.Context, m manager.Manager) error
}

// The exit codes of the command.
const (
	// ExitUnchanged means that nothing would be changed in the external system.
	ExitUnchanged = 0

	// ExitFailed means that the command failed, or that some object could not be planned.
	ExitFailed = 1

	// ExitChanges means that all objects were planned, and something would be changed in the external system.
	ExitChanges = 2
)

// Run runs the command with its arguments, without the name of the command. It prints the plans to out, and progress
// and errors to errs. The result is the exit code: ExitUnchanged, ExitFailed or ExitChanges.
func Run(ctx context.Context, args []string, out, errs io.Writer, p Provider) int {
	f, err := parse(p, args, errs)
	if stderrors.Is(err, flag.ErrHelp) {
		return ExitUnchanged
	}
	code := ExitFailed
	if err == nil {
		code, err = run(ctx, f, out, errs, p)
	}
	if err != nil {
		_, _ = io.WriteString(errs, p.Name+" plan: "+oneLine(redact.Error(err).Error())+"\n")

		return ExitFailed
	}

	return code
}

// run makes the plans and prints them.
func run(ctx context.Context, f flags, out, errs io.Writer, p Provider) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, errors.Errorf("--timeout of %s is over", f.timeout))
	defer cancel()
	planner, r, options, err := prepare(ctx, f, p)
	if err != nil {
		return ExitFailed, err
	}
	options = append(options, managed.WithPlanWorkers(f.workers), managed.WithPlannedKinds(f.kinds...),
		managed.WithPlanProgress(progressOn(errs)))
	failed := planner.Run(ctx, r.add, options...)
	if errors.Is(failed, context.Canceled) {
		failed = errors.Wrap(failed, "interrupted")
	}
	r.calls = planner.Calls()
	r.end(ctx)
	switch {
	case len(r.plans) > 0:
	case failed != nil:
		return ExitFailed, failed
	case len(r.unread) > 0:
		return ExitFailed, errors.Errorf("there is no object in --namespace %s, and this user must not read whether the "+
			"namespaces exist: correct --namespace, or allow to get them", f.namespace)
	}
	if err := r.print(out, f); err != nil {
		return ExitFailed, errors.Wrap(err, "cannot print the plans")
	}

	return r.exitCode(), failed
}

// prepare sets up a Planner, and applies the manifests of the files as a dry run.
func prepare(ctx context.Context, f flags, p Provider) (
	*managed.Planner, *report, []managed.PlanOption, error) {
	// a part that goes on after the end of ctx may still set these
	var planner *managed.Planner
	var r *report
	var options []managed.PlanOption
	var manifests []manifest
	var cfg *rest.Config
	var unread []string
	if f.secret != "" {
		p.Credentials(f.credentials())
	}
	for _, part := range []struct {
		what string
		do   func() error
	}{
		{"the files of -f", func() (err error) {
			manifests, err = readFiles(f.files)

			return err
		}},
		{"the access to a cluster", func() (err error) {
			cfg, err = p.Config(f.kubeconfig)

			return errors.Wrap(err, "cannot find a cluster: name a kubeconfig by --kubeconfig")
		}},
		{"the API server", func() (err error) {
			planner, err = managed.NewPlanner(cfg, p.Manager(f.cached()))

			return err
		}},
		{"the namespaces", func() (err error) {
			unread, err = checkNamespaces(ctx, planner.Manager().GetAPIReader(), f.namespaces())

			return err
		}},
		{"the set-up of the kinds", func() error {
			return errors.Wrap(p.Setup(ctx, planner.Manager()), "cannot set up the kinds")
		}},
		{"the dry run of the manifests", func() (err error) {
			r = newReport(p, planner.Manager().GetAPIReader(), len(planner.Kinds()))
			r.unread = unread
			options, err = r.apply(ctx, planner, manifests, f)

			return err
		}},
	} {
		if err := within(ctx, part.what, part.do); err != nil {
			return nil, nil, nil, err
		}
	}

	return planner, r, options, nil
}

// checkNamespaces returns an error if a namespace does not exist, and the namespaces that must not be read.
func checkNamespaces(ctx context.Context, live reader, names []string) (unread []string, err error) {
	for _, name := range names {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
		switch err := live.Get(ctx, types.NamespacedName{Name: name}, namespace); {
		case gone.Answered(err, name):
			return nil, errors.Errorf("the namespace %q does not exist: correct --namespace", name)
		case kerrors.IsForbidden(err):
			unread = append(unread, name)
		case err != nil:
			return nil, errors.Wrapf(err, "cannot read the namespace %q", name)
		}
	}

	return unread, nil
}

// within calls a function, and returns when ctx ends, also if the function goes on: the process ends soon after. The
// error then says what was waited for.
func within(ctx context.Context, what string, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		if err == nil || ctx.Err() == nil {
			return err
		}
	case <-ctx.Done():
	}
	why := context.Cause(ctx).Error()
	if errors.Is(context.Cause(ctx), context.Canceled) {
		why = "interrupted"
	}

	return errors.Errorf("%s: waited for %s", why, what)
}

// A reader reads from the API server.
type reader = client.Reader
