// A consumer of kafka-go: its ConsumerGroup tells of generations, its readers read partitions.
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	kafka "github.com/segmentio/kafka-go"
)

type kafkaGo struct {
	consumer   *consumer
	group      *kafka.ConsumerGroup
	over       sync.WaitGroup
	lock       sync.Mutex
	generation *kafka.Generation
}

func open(c *consumer) library { return &kafkaGo{consumer: c} }

var groupBalancers = map[string]kafka.GroupBalancer{
	"range":      kafka.RangeGroupBalancer{},
	"roundrobin": kafka.RoundRobinGroupBalancer{},
}

func (l *kafkaGo) subscribe(topics []string) error {
	s := l.consumer.settings
	dialer := &kafka.Dialer{ClientID: s.ClientID, Timeout: 10 * time.Second}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:                s.GroupID,
		Brokers:           []string{s.Address},
		Dialer:            dialer,
		Topics:            topics,
		GroupBalancers:    []kafka.GroupBalancer{groupBalancers[s.Assignor]},
		HeartbeatInterval: time.Duration(s.Heartbeat) * time.Millisecond,
		SessionTimeout:    time.Duration(s.Session) * time.Millisecond,
		RebalanceTimeout:  10 * time.Second,
		JoinGroupBackoff:  200 * time.Millisecond,
		StartOffset:       kafka.FirstOffset,
	})
	if err != nil {
		return err
	}
	l.group = group
	l.over.Add(1)
	go l.generations(dialer)
	return nil
}

func (l *kafkaGo) generations(dialer *kafka.Dialer) {
	defer l.over.Done()
	for {
		generation, err := l.group.Next(context.Background())
		if errors.Is(err, kafka.ErrGroupClosed) {
			return
		}
		if err != nil {
			l.consumer.fail("next", err)
			continue
		}
		l.lock.Lock()
		l.generation = generation
		l.lock.Unlock()
		l.begin(generation, dialer)
	}
}

// Partitions are given up when the last reader of the generation has ended.
func (l *kafkaGo) begin(generation *kafka.Generation, dialer *kafka.Dialer) {
	all := []partition{}
	for topic, assigned := range generation.Assignments {
		for _, each := range assigned {
			all = append(all, partition{topic, int32(each.ID)})
		}
	}
	l.consumer.gate.Lock()
	l.consumer.assigned(all)
	l.consumer.gate.Unlock()
	var readers sync.WaitGroup
	for topic, assigned := range generation.Assignments {
		for _, each := range assigned {
			readers.Add(1)
			generation.Start(func(lasting context.Context) {
				defer readers.Done()
				l.read(lasting, dialer, topic, each)
			})
		}
	}
	generation.Start(func(lasting context.Context) {
		<-lasting.Done()
		readers.Wait()
		l.consumer.gate.Lock()
		defer l.consumer.gate.Unlock()
		l.consumer.revoke(all)
		l.lock.Lock()
		defer l.lock.Unlock()
		if l.generation == generation {
			l.generation = nil
		}
	})
}

func (l *kafkaGo) read(lasting context.Context, dialer *kafka.Dialer, topic string, of kafka.PartitionAssignment) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:   []string{l.consumer.settings.Address},
		Dialer:    dialer,
		Topic:     topic,
		Partition: of.ID,
		MaxWait:   100 * time.Millisecond,
	})
	defer reader.Close()
	if err := reader.SetOffset(of.Offset); err != nil {
		l.consumer.fail("set offset", err)
	}
	for {
		message, err := reader.ReadMessage(lasting)
		if err != nil {
			if lasting.Err() == nil {
				l.consumer.fail("read", err)
			}
			return
		}
		l.consumer.gate.Lock()
		if lasting.Err() == nil {
			l.consumer.saw(partition{topic, int32(of.ID)}, message.Offset, string(message.Value))
		}
		l.consumer.gate.Unlock()
	}
}

func (l *kafkaGo) now() *kafka.Generation {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.generation
}

func (l *kafkaGo) membership() (int32, string) {
	if generation := l.now(); generation != nil {
		return generation.ID, generation.MemberID
	}
	return -1, ""
}

func (l *kafkaGo) poll() error {
	time.Sleep(20 * time.Millisecond)
	return nil
}

func (l *kafkaGo) commit(of offsets) error {
	generation := l.now()
	if generation == nil {
		return errors.New("there is no generation")
	}
	asked := map[string]map[int]int64{}
	for at, offset := range of {
		if asked[at.topic] == nil {
			asked[at.topic] = map[int]int64{}
		}
		asked[at.topic][int(at.index)] = offset
	}
	return generation.CommitOffsets(asked)
}

func (l *kafkaGo) committed(of []partition) (map[partition]*int64, error) {
	client := &kafka.Client{Addr: kafka.TCP(l.consumer.settings.Address)}
	asked := map[string][]int{}
	for _, at := range of {
		asked[at.topic] = append(asked[at.topic], int(at.index))
	}
	answer, err := client.OffsetFetch(context.Background(),
		&kafka.OffsetFetchRequest{GroupID: l.consumer.settings.GroupID, Topics: asked})
	if err != nil {
		return nil, err
	}
	found := map[partition]*int64{}
	for topic, partitions := range answer.Topics {
		for _, each := range partitions {
			at := partition{topic, int32(each.Partition)}
			found[at] = nil
			if offset := each.CommittedOffset; offset >= 0 {
				found[at] = &offset
			}
		}
	}
	return found, nil
}

func (l *kafkaGo) close() {
	if l.group == nil {
		return
	}
	if err := l.group.Close(); err != nil {
		l.consumer.fail("close", err)
	}
	l.over.Wait()
}
