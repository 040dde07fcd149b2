package chaos

import (
	"context"
	stderrors "errors"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// rewindTo restores etcd to its state before users changed all objects, under two replicas whose watches
// wait for versions that are gone. The revision is not raised, as after a careless restore. Each replica
// may end once for it; then everything has to be as the older objects ask for.
func (w *world) rewindTo(ctx context.Context, res *Result) error {
	w.say("then: the API server is restored to an earlier state")

	if err := w.fleet.start(ctx, course{pair: true, notified: true}); err != nil {
		return err
	}
	defer w.fleet.stop()

	v, text, err := w.settle(ctx, w.look)
	if err != nil || !v.held() {
		w.conclude(v, "", text, res)

		return err
	}

	data, backup := filepath.Join(w.env.Cluster.Dir, "etcd"), filepath.Join(w.o.Dir, "backup")
	if err := w.whileDown(ctx, func() error { return os.CopyFS(backup, os.DirFS(data)) }); err != nil {
		return err
	}

	w.say("  users changed %d objects since the backup", w.users.changeAll(ctx))

	if v, text, err = w.settle(ctx, w.look); err != nil || !v.held() {
		w.conclude(v, "", text, res)

		return err
	}

	before := w.fleet.ends()
	if err := w.whileDown(ctx, func() error {
		return stderrors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(backup)))
	}); err != nil {
		return err
	}

	begin := time.Now()

	if v, text, err = w.settle(ctx, func(ctx context.Context) (verdict, string, error) {
		v, text, err := w.look(ctx)
		if err == nil && w.fleet.ends() == before {
			v.find(unended, "the API server was restored, and no replica has detected it")
		}

		return v, text, err
	}); err != nil {
		return err
	}

	for who, ends := range w.fleet.ends() {
		if n := ends - before[who]; n > 1 {
			v.find(unended, "replica %s ended %d times for one restore", name(who), n)
		}
	}

	w.happened(rewind, "restored etcd under two replicas, which took %.1f s", time.Since(begin).Seconds())
	w.conclude(v, "everything is as the older objects ask for", text, res)

	return nil
}

// whileDown calls what while no API server runs.
func (w *world) whileDown(ctx context.Context, what func() error) error {
	if err := w.env.Cluster.Kill(); err != nil {
		return err
	}

	if err := what(); err != nil {
		return err
	}

	return w.env.Cluster.Restart(ctx)
}

// conclude adds the findings after the rounds to the result, and reports them.
func (w *world) conclude(v verdict, well, text string, res *Result) {
	if res.add(v, w.count(), w.users.done.Load()); v.held() {
		w.say("  %s: %s", well, text)
	} else {
		w.complain(v)
	}
}

// changeAll changes every existing object, and returns how many.
func (p *users) changeAll(ctx context.Context) int {
	changed := 0

	for i, s := range p.slots {
		if !p.full[i] {
			continue
		}

		p.revision[i]++

		err := p.insist(ctx, func(ctx context.Context) error {
			return resource.IgnoreNotFound(p.kube.Patch(ctx, s.object(p.revision[i]),
				client.RawPatch(types.MergePatchType, []byte(s.change(p.revision[i])))))
		})
		if err == nil {
			changed++
		}
	}

	return changed
}
