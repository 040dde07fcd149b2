package disaster_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

var objects = flag.Int("objects", 8, "how many objects there are, of all classes together")

const (
	pollInterval  = 5 * time.Second
	probeInterval = 500 * time.Millisecond
)

func TestMain(m *testing.M) {
	flag.Parse()
	ctrllog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func newSystems() []*system {
	var all []*system
	for _, c := range classes() {
		all = append(all, newSystem(c))
	}

	return all
}

// each returns the number of objects of each class.
func each() int { return max(*objects/len(classes()), 1) }

// some returns a tenth of each, plus one.
func some() int { return each()/10 + 1 }

// filled returns a cluster whose provider has made a disk for each object.
func filled(t *testing.T, systems []*system) (c *cluster, restarted func() int) {
	t.Helper()
	c = newCluster(t)
	restarted = c.run(systems)
	c.fill(0, each())
	wait.Until(t, "all objects are ready", func() bool { return settled(c.volumes()) })

	return c, restarted
}

// changed returns how many calls of a cluster changed something in any system.
func changed(systems []*system, by types.UID) int {
	n := 0
	for _, s := range systems {
		n += s.changed(by)
	}

	return n
}

// owners checks that each object of a cluster owns one disk, with the size in its spec, and
// returns how many disks belong to no object of the cluster.
func owners(t *testing.T, c *cluster, systems []*system) (left int) {
	t.Helper()
	for _, s := range systems {
		owned, sizes := s.owned(), map[string]int64{}
		for _, d := range s.cloud.Disks() {
			sizes[d.ID] = d.SizeGiB
		}
		for _, v := range c.volumes() {
			if v.Namespace != s.name {
				continue
			}
			stamp := stampOf(c.uid, &v)
			if disks := owned[stamp]; len(disks) != 1 || disks[0] != meta.GetExternalName(&v) {
				t.Errorf("%s/%s owns %v, and its external name is %q", v.Namespace, v.Name, disks,
					meta.GetExternalName(&v))
			}
			if got := sizes[meta.GetExternalName(&v)]; got != v.Spec.SizeGiB {
				t.Errorf("the disk of %s/%s has %d GiB, want %d", v.Namespace, v.Name, got, v.Spec.SizeGiB)
			}
			delete(owned, stamp)
		}
		for _, disks := range owned {
			left += len(disks)
		}
	}

	return left
}

// TestAnotherClusterWhileTheFirstIsAlive restores objects into a second cluster while the first
// one is alive: the second changes nothing until an administrator allows it, whatever users
// change and delete there.
func TestAnotherClusterWhileTheFirstIsAlive(t *testing.T) {
	restored(t, true)
}

// TestAnotherClusterWhenTheFirstIsGone restores objects into a second cluster when the first one
// is gone: after one command they own their resources again.
func TestAnotherClusterWhenTheFirstIsGone(t *testing.T) {
	restored(t, false)
}

func restored(t *testing.T, alive bool) {
	t.Helper()
	systems := newSystems()
	first, _ := filled(t, systems)
	backup := backedUp(t, first, systems)
	if !alive {
		first.stop()
		if err := first.server.Stop(); err != nil {
			t.Fatal(err)
		}
	}

	begin := time.Now()
	second := newCluster(t)
	second.restoreFrom(backup)
	secrets := second.secrets()
	second.run(systems)
	wait.Until(t, "all objects say that their resources belong to others",
		func() bool { return asking(second.volumes()) })
	second.resize(2)
	wait.Until(t, "all objects have been looked at once more", func() bool { return asking(second.volumes()) })
	second.remove(some())
	if n := changed(systems, second.uid); n != 0 {
		t.Errorf("the second cluster has changed something %d times before a person said that it may", n)
	}
	if alive {
		before := changed(systems, first.uid)
		wait.Until(t, "the first cluster goes on", func() bool { return settled(first.volumes()) })
		if n := changed(systems, first.uid); n != before {
			t.Errorf("the first cluster has changed something %d times", n-before)
		}
		first.stop() // as an administrator does before answering that the second one may take over
	}

	if n := second.answer(systems, first.uid, backup.objects); n != slowly*len(assigned()) {
		t.Errorf("%d objects ask what their creation led to, want %d", n, slowly*len(assigned()))
	}
	second.say(first.uid)
	wait.Until(t, "all objects have taken over", func() bool { return settled(second.volumes()) })
	created := 0
	for _, s := range systems {
		created += s.cloud.Count("Create")
	}
	if created != len(backup.objects) {
		t.Errorf("%d disks were created for %d objects", created, len(backup.objects))
	}
	published(t, second, secrets)
	if left, want := owners(t, second, systems), some()*len(systems); left != want {
		t.Errorf("%d disks belong to no object, want the %d whose objects were deleted before", left, want)
	}
	figure(t, "objects_restored_into_another_cluster", len(backup.objects))
	figure(t, "seconds_until_all_have_taken_over", int(time.Since(begin).Seconds()))
}

// published checks that each object controls the connection Secret of its name, which is the restored one if there
// was one, and has the details that only Create returned.
func published(t *testing.T, c *cluster, restored []corev1.Secret) {
	t.Helper()
	secrets := c.secrets()
	for _, v := range c.volumes() {
		of := func(s corev1.Secret) bool { return s.Namespace == v.Namespace && s.Name == v.Name }
		i, before := slices.IndexFunc(secrets, of), slices.IndexFunc(restored, of)
		switch {
		case i < 0 || !metav1.IsControlledBy(&secrets[i], &v) ||
			string(secrets[i].Data["id"]) != meta.GetExternalName(&v):
			t.Errorf("%s/%s has no connection Secret", v.Namespace, v.Name)
		case before >= 0 && (secrets[i].UID != restored[before].UID || string(secrets[i].Data["note"]) != returnedOnce):
			t.Errorf("the connection Secret of %s/%s is not the one that was restored", v.Namespace, v.Name)
		case before < 0 && !strings.HasPrefix(v.Name, slow):
			t.Errorf("no connection Secret of %s/%s was restored", v.Namespace, v.Name)
		}
	}
}

// slowly is how many objects of each class are being created while a backup is taken.
const slowly = 2

// returnedOnce stands in the connection Secrets of a backup for the details that only Create returns.
const returnedOnce = "returned once"

// A saved is a backup of a cluster.
type saved struct {
	objects []volume.Volume
	secrets []corev1.Secret
}

// backedUp returns a backup that is taken while some of the objects of a cluster are being created. These creations
// end before it returns.
func backedUp(t *testing.T, c *cluster, systems []*system) saved {
	t.Helper()
	for i := range slowly {
		c.create(fmt.Sprintf("%s%d", slow, i))
	}
	wait.Until(t, "creations are under way", func() bool {
		return !slices.ContainsFunc(systems, func(s *system) bool { return s.creating() < slowly })
	})
	backup := saved{c.volumes(), c.secrets()}
	for i := range backup.secrets {
		backup.secrets[i].Data["note"] = []byte(returnedOnce)
	}
	for _, s := range systems {
		close(s.released)
	}
	wait.Until(t, "all objects are ready", func() bool { return settled(c.volumes()) })

	return backup
}

// asking reports whether the conditions of all objects of another cluster name the remedy: their
// resources belong to the objects that they were restored from, or, if those were being created and
// have no name, the name of the resource is needed.
func asking(all []volume.Volume) bool {
	return !slices.ContainsFunc(all, func(v volume.Volume) bool {
		synced := v.GetCondition(commonv1.TypeSynced)
		reason, text := commonv1.ReasonExternalResourceNotOwned, meta.AnnotationKeyRestoredFrom
		if strings.HasPrefix(v.Name, slow) && slices.Contains(assigned(), v.Namespace) {
			reason, text = commonv1.ReasonCreationUnresolved, meta.AnnotationKeyExternalName
		}

		return synced.Reason != reason || synced.ObservedGeneration != v.Generation ||
			!strings.Contains(synced.Message, text)
	})
}

// TestEtcdIsPutBack puts etcd back to an older state under a running provider: the process ends
// once, and the next one reconciles the older objects. Objects that were deleted since exist
// again, with one disk each, and the log names the disks of objects that do not exist any more.
func TestEtcdIsPutBack(t *testing.T) {
	systems := newSystems()
	c, restarted := filled(t, systems)
	old := filepath.Join(t.TempDir(), "etcd")
	c.whileDown(func() error { return os.CopyFS(old, os.DirFS(c.etcd())) })
	for gib := int64(2); gib < 5; gib++ {
		c.resize(gib)
		wait.Until(t, "all objects have grown", func() bool { return settled(c.volumes()) && grown(systems, gib) })
	}
	c.fill(each(), each()+some())
	wait.Until(t, "the newer objects are ready", func() bool { return settled(c.volumes()) })
	c.remove(some())
	newer := c.volumes()

	begin := time.Now()
	c.whileDown(func() error { return errors.Join(os.RemoveAll(c.etcd()), os.CopyFS(c.etcd(), os.DirFS(old))) })
	wait.Until(t, "the disks are as the older objects say", func() bool {
		return len(c.volumes()) == each()*len(systems) && all(c, systems) && settled(c.volumes())
	})
	if n := restarted(); n != 1 {
		t.Errorf("the process has ended %d times", n)
	}
	if left, want := owners(t, c, systems), some()*len(systems); left != want {
		t.Errorf("%d disks belong to no object, want the %d of objects that were created since", left, want)
	}
	for _, v := range newer {
		if v.Name >= fmt.Sprintf("data-%03d", each()) &&
			!c.log.names("may be left over", fmt.Sprintf("%q", v.Namespace), fmt.Sprintf("%q", v.Name)) {
			t.Errorf("the log does not say that the disk of %s/%s is left", v.Namespace, v.Name)
		}
	}
	c.resize(7)
	wait.Until(t, "what users change is carried out again", func() bool { return all(c, systems) })
	figure(t, "seconds_after_etcd_was_put_back", int(time.Since(begin).Seconds()))
}

// grown reports whether all disks have a size.
func grown(systems []*system, gib int64) bool {
	for _, s := range systems {
		for _, d := range s.cloud.Disks() {
			if d.SizeGiB != gib {
				return false
			}
		}
	}

	return true
}

// TestTheExternalSystemIsPutBack puts the external system back to an older state under running
// objects: a lost disk is created again with a warning, and a disk that is back gets the size in
// its object's spec.
func TestTheExternalSystemIsPutBack(t *testing.T) {
	systems := newSystems()
	c, _ := filled(t, systems)
	var backups []backup
	for _, s := range systems {
		backups = append(backups, s.backup())
	}
	c.resize(2)
	c.fill(each(), each()+each()/2+1)
	wait.Until(t, "all objects are ready", func() bool { return settled(c.volumes()) })
	gone := stories.NewVolume(systems[0].name, "data-000")
	if err := c.admin.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "an object is gone", func() bool { return len(c.volumes()) == 4*(each()+each()/2+1)-1 })

	begin := time.Now()
	for i, s := range systems {
		s.restore(backups[i])
	}
	wait.Until(t, "every object has its disk", func() bool { return all(c, systems) && settled(c.volumes()) })
	if left := owners(t, c, systems); left != 1 {
		t.Errorf("%d disks belong to no object, want the one whose object was deleted since the backup", left)
	}
	figure(t, "seconds_after_the_external_system_was_put_back", int(time.Since(begin).Seconds()))
}

// all reports whether there is a disk for each object, of the size in its spec.
func all(c *cluster, systems []*system) bool {
	for _, s := range systems {
		sizes := map[string]int64{}
		for _, d := range s.cloud.Disks() {
			sizes[d.ID] = d.SizeGiB
		}
		for _, v := range c.volumes() {
			if v.Namespace == s.name && sizes[meta.GetExternalName(&v)] != v.Spec.SizeGiB {
				return false
			}
		}
	}

	return true
}

// figure prints a figure alone on its line.
func figure(t *testing.T, name string, value int) {
	t.Helper()
	fmt.Printf("%s: %d\n", name, value)
}
