package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/cluster"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/object"
	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

func (c *console) historyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history (KIND/NAME | KIND NAME) [FILE | -]",
		Short: "Show what happened to an object",
		Long: `Show what happened to an object, the oldest first: its events, when its conditions changed, and which
clients changed it last. With a file, or - for the standard input, also the changes of the external
resource in the lines of a change log of the provider (JSON), with their cause and the fields that
differed; other lines are ignored.

Events are kept for an hour, unless the API server has another setting. Of conditions and clients
only the last change of each is known. The change log has every change of the external resource. The
events and the change log of an object that does not exist any more are shown as well.`,
		Example: example(`
# What the cluster knows
kubectl moorage history stream/orders
# Also the changes in the log of the provider
kubectl logs -n provider-nats deploy/provider-nats | kubectl moorage history stream/orders -`),
		ValidArgsFunction: c.completeObjects,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.history(cmd.Context(), args) },
	}
	c.addOutput(cmd, formatJSON, formatWide)

	return cmd
}

// A moment is something that happened to an object.
type moment struct {
	Time    metav1.Time `json:"time"`
	Source  string      `json:"source"` // event, condition, client, object or change log
	What    string      `json:"what"`
	Message string      `json:"message,omitempty"`
	Count   int32       `json:"count,omitempty"` // of an event

	// Of a line of a change log: why the provider made the change, and which fields it was to correct.
	Cause       string              `json:"cause,omitempty"`
	Differences []object.Difference `json:"differences,omitempty"`
}

// A historyOutput is the JSON of history. Fields are added, never renamed.
type historyOutput struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Object     *object.Reference `json:"object,omitempty"` // nil: it does not exist any more
	Items      []moment          `json:"items"`
	Unknown    []string          `json:"unknown"` // what is not known, and why
}

// splitFile takes the file of a change log from the arguments.
func splitFile(args []string) (objects []string, file string) {
	n := 2
	if len(args) > 0 && strings.Contains(args[0], "/") {
		n = 1
	}

	if len(args) == n+1 {
		return args[:n], args[n]
	}

	return args, ""
}

func (c *console) history(ctx context.Context, args []string) error {
	args, file := splitFile(args)

	targets, err := parse(args)

	switch {
	case err != nil:
		return err
	case len(targets) != 1 || targets[0].name == "":
		return errors.New("name one object: KIND/NAME, such as stream/orders")
	}

	s, err := c.connect(ctx)
	if err != nil {
		return err
	}

	where, err := c.selection(s, targets[0])
	if err != nil {
		return err
	}

	out := historyOutput{APIVersion: apiVersion, Kind: "History", Items: []moment{}, Unknown: []string{}}

	found, err := s.Get(ctx, where)
	if err == nil {
		err = item{where.Kind, found}.check()
	}

	missing := cluster.Missing(err, where.Name) && where.Kind.Managed

	switch {
	case missing:
		out.Unknown = append(out.Unknown, err.Error()+" any more: its status is not known")
	case err != nil:
		return err
	default:
		ref := found.Reference()
		out.Object = &ref
		out.Items = append(out.Items, ofObject(found)...)
	}

	if err := c.gather(ctx, s, where, found, file, &out); err != nil {
		return err
	}

	if missing && len(out.Items) == 0 {
		return fmt.Errorf("there is no %s, and nothing is known of an earlier one", where)
	}

	slices.SortStableFunc(out.Items, func(a, b moment) int { return a.Time.Compare(b.Time.Time) })

	return c.showHistory(out)
}

// gather adds the events and the lines of the change log. The events are those of the object that exists, not of an
// earlier one of its name.
func (c *console) gather(ctx context.Context, s *session, where cluster.Selection, found object.Object, file string,
	out *historyOutput,
) error {
	namespace, uid := where.Namespace, ""
	if !where.Kind.Namespaced {
		namespace = ""
	}

	if out.Object != nil {
		uid = string(found.GetUID())
	}

	events, _, err := s.List(ctx, cluster.Events(where.Kind, namespace, where.Name, uid))
	if err != nil {
		out.Unknown = append(out.Unknown, "events: "+err.Error())
	}

	for _, o := range events {
		if e, ok := cluster.EventOf(o); ok {
			out.Items = append(out.Items, moment{
				Time: metav1.NewTime(e.Time), Source: "event", What: e.Type + " " + e.Reason, Message: e.Message, Count: e.Count,
			})
		}
	}

	if file == "" {
		out.Unknown = append(out.Unknown, "earlier changes: events are kept for about an hour, and of conditions and "+
			"clients only the last change is known; a change log of the provider has the changes of the external resource "+
			"(FILE or -)")

		return nil
	}

	changes, err := interruptible(ctx, func() ([]moment, error) {
		return c.changes(file, where.Kind, namespace, where.Name)
	})
	out.Items = append(out.Items, changes...)

	return err
}

// changes returns the entries of a change log about an object.
func (c *console) changes(file string, k cluster.Kind, namespace, name string) ([]moment, error) {
	in := c.in

	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the change log: %w", err)
		}
		defer f.Close()

		in = f
	}

	out, err := readChanges(in, k, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the change log: %w", err)
	}

	return out, nil
}

// ofObject returns what an object says about its past.
func ofObject(o object.Object) (out []moment) {
	out = append(out, moment{Time: o.GetCreationTimestamp(), Source: "object", What: "Created"})

	if at, deleted := o.Deleted(); deleted {
		out = append(out, moment{Time: metav1.NewTime(at), Source: "object", What: "Deletion requested"})
	}

	for _, f := range o.GetManagedFields() {
		if f.Time == nil {
			continue
		}

		what := text.Line(f.Manager) + " changed the object last"
		if f.Subresource != "" {
			what = fmt.Sprintf("%s changed the %s last", text.Line(f.Manager), text.Line(f.Subresource))
		}

		out = append(out, moment{Time: *f.Time, Source: "client", What: what})
	}

	for _, cond := range o.Conditions() {
		out = append(out, moment{
			Time: cond.LastTransitionTime, Source: "condition",
			What: fmt.Sprintf("%s is %s (%s)", cond.Type, cond.Status, cond.Reason), Message: cond.Message,
		})
	}

	return out
}

func (c *console) showHistory(out historyOutput) error {
	if c.json() {
		return c.writeJSON(out)
	}

	table := text.NewTable(c.out, "TIME", "AGE", "SOURCE", "WHAT", "MESSAGE")

	if c.wide() && out.Object != nil {
		c.say("%s %s %s", out.Object.APIVersion, out.Object.Kind, path.Join(out.Object.Namespace, out.Object.Name))
	}

	for _, m := range out.Items {
		what := m.What
		if m.Count > 1 {
			what += fmt.Sprintf(" (%d times)", m.Count)
		}

		table.Row(m.Time.UTC().Format(time.RFC3339), text.Age(c.now(), m.Time.Time), m.Source, what, c.message(m))
	}

	if err := table.Flush(); err != nil {
		return err
	}

	for _, line := range out.Unknown {
		c.note("Not known: %s.", strings.TrimSuffix(line, "."))
	}

	return nil
}
