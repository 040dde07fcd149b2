package plan

import (
	"context"
	stderrors "errors"
	"flag"
	"io"
	"strings"
	"time"

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

// A Provider is the provider whose plans are shown. All fields but Version are required.
type Provider struct {
	// Name and Version are those of the provider.
	Name, Version string

	// Config returns the access to the cluster. The argument is the path of a kubeconfig, or empty for the default.
	Config func(kubeconfig string) (*rest.Config, error)

	// Manager returns the options of the provider's manager for objects of these namespaces. None means all.
	Manager func(namespaces []string) manager.Options

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

// flags are the flags of the command.
type flags struct {
	kubeconfig, namespace, output string
	how                           managed.Apply
	kinds, files                  texts
	all                           bool
	workers                       int
	timeout                       time.Duration
}

// texts are the values of a flag that may be given several times.
type texts []string

// String returns the values.
func (t *texts) String() string { return strings.Join(*t, ",") }

// Set adds a value.
func (t *texts) Set(value string) error {
	*t = append(*t, value)

	return nil
}

const (
	outputTable = "table"
	outputJSON  = "json"
)

// Run runs the command with its arguments, without the name of the command. It prints the plans to out, and progress
// and errors to errs. The result is the exit code: ExitUnchanged, ExitFailed or ExitChanges.
func Run(ctx context.Context, args []string, out, errs io.Writer, p Provider) int {
	f, err := parse(p.Name, args, errs)
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

// parse parses the flags, and returns an error that names the flag to correct.
func parse(name string, args []string, errs io.Writer) (f flags, err error) {
	set := flag.NewFlagSet(name+" plan", flag.ContinueOnError)
	set.SetOutput(errs)
	set.StringVar(&f.kubeconfig, "kubeconfig", "",
		"path of a kubeconfig; empty means $KUBECONFIG, the pod's own access, or ~/.kube/config")
	set.StringVar(&f.namespace, "namespace", "",
		"plan the objects of this namespace only, or of several, separated by commas; empty means all. With -f it is the "+
			"namespace of manifests without one; empty means that of the kubeconfig")
	set.StringVar(&f.namespace, "n", "", "the same as --namespace")
	set.Var(&f.kinds, "kind", "plan the objects of this kind only; may be given several times")
	set.Var(&f.files, "f", "plan the manifests of this `file` instead of stored objects, without applying them; may be "+
		"given several times")
	set.BoolVar(&f.how.ServerSide, "server-side", false,
		"with -f, plan what kubectl apply --server-side would do, and not kubectl apply")
	set.BoolVar(&f.how.Force, "force-conflicts", false,
		"with --server-side, take over fields that other field managers have set; otherwise their objects cannot be planned")
	set.StringVar(&f.how.FieldManager, "field-manager", "",
		"with -f, the field manager that would apply the manifests; empty means that of kubectl apply")
	set.BoolVar(&f.all, "all", false, "print the objects that stay as they are, too")
	set.StringVar(&f.output, "o", outputTable, "how to print the plans: table or json")
	set.IntVar(&f.workers, "workers", 10, "how many objects are planned at a time")
	set.DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long the plan may take in total")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	switch {
	case set.NArg() > 0:
		return f, errors.Errorf("unexpected argument %q: all arguments are flags", set.Arg(0))
	case f.output != outputTable && f.output != outputJSON:
		return f, errors.Errorf("-o must be table or json, and not %q", f.output)
	case f.workers <= 0:
		return f, errors.New("--workers must be more than 0")
	case f.timeout <= 0:
		return f, errors.New("--timeout must be more than 0")
	case f.how.ServerSide && len(f.files) == 0:
		return f, errors.New("--server-side needs -f: it says how manifests would be applied")
	case f.how.Force && !f.how.ServerSide:
		return f, errors.New("--force-conflicts needs --server-side: kubectl apply without it has no conflicts")
	case len(f.files) > 0 && len(f.kinds) > 0:
		return f, errors.New("--kind does not go with -f: all manifests of the files are planned")
	case len(f.files) > 0 && len(f.namespaces()) > 1:
		return f, errors.New("with -f, --namespace is that of manifests without one: give only one")
	}

	return f, nil
}

// namespaces returns the namespaces of the flag.
func (f flags) namespaces() []string {
	return strings.FieldsFunc(f.namespace, func(r rune) bool { return r == ',' || r == ' ' })
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
	planner *managed.Planner, r *report, options []managed.PlanOption, err error) {
	var manifests []manifest
	var cfg *rest.Config
	var unread []string
	namespaces := f.namespaces()
	if len(f.files) > 0 { // of manifests
		namespaces = nil
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
			planner, err = managed.NewPlanner(cfg, p.Manager(namespaces))

			return err
		}},
		{"the namespaces", func() (err error) {
			unread, err = checkNamespaces(ctx, planner.Manager().GetAPIReader(), f.namespaces())

			return err
		}},
		{"the set-up of the kinds", func() error {
			return errors.Wrap(p.Setup(ctx, planner.Manager()), "cannot set up the kinds")
		}},
		{"the dry run of the manifests", func() error {
			r = newReport(p, planner.Manager().GetAPIReader(), len(planner.Kinds()))
			r.unread = unread
			if len(f.files) == 0 {
				return nil
			}
			objects, err := r.apply(ctx, planner, manifests, f)
			options = append(options, managed.WithPlannedObjects(objects...))

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
