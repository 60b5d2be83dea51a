package cluster

import (
	"context"
	"fmt"
	"sort"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// Deletions are the objects of some keys that are deleted while it watches.
type Deletions struct {
	stop    context.CancelFunc
	watches sync.WaitGroup
	mutex   sync.Mutex
	seen    map[Key]bool
	wanted  map[Key]bool
}

// WatchDeletions begins to watch the objects of some keys.
func (c *Cluster) WatchDeletions(ctx context.Context, keys []Key) (*Deletions, error) {
	ctx, stop := context.WithCancel(ctx)
	deletions := &Deletions{stop: stop, seen: map[Key]bool{}, wanted: map[Key]bool{}}
	kinds := map[Key]bool{}
	for _, key := range keys {
		deletions.wanted[key] = true
		kinds[Key{Group: key.Group, Version: key.Version, Kind: key.Kind}] = true
	}
	for kind := range kinds {
		client, err := c.resource(kind)
		if err != nil {
			stop()
			return nil, err
		}
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			stop()
			return nil, err
		}
		events, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		if err != nil {
			stop()
			return nil, fmt.Errorf("watch %s: %w", kind.Kind, err)
		}
		deletions.watches.Add(1)
		go deletions.collect(events)
	}
	return deletions, nil
}

func (d *Deletions) collect(events watch.Interface) {
	defer d.watches.Done()
	for event := range events.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type != watch.Deleted || !d.wanted[KeyOf(object)] {
			continue
		}
		d.mutex.Lock()
		d.seen[KeyOf(object)] = true
		d.mutex.Unlock()
	}
}

// Stop ends the watch and returns what was deleted.
func (d *Deletions) Stop() []string {
	d.stop()
	d.watches.Wait()
	var names []string
	for key := range d.seen {
		names = append(names, key.String())
	}
	sort.Strings(names)
	return names
}
